//! Writes the journals that the engine's tests replay: as few as hold every kind of event, twice.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use unstuck_testkit::{WorldProfile, run};

const SEEDS: u64 = 250;
const STEPS: u64 = 250;
/// So many journals hold each kind of event.
const TIMES: u32 = 2;

#[test]
#[ignore = "writes the journals that are kept for replay"]
fn write_journals() {
    let kinds = |seed| -> (String, BTreeSet<String>) {
        let sim = run::play_simulation(WorldProfile::wild_from_seed(seed), STEPS)
            .unwrap_or_else(|_| panic!("seed {seed}"));
        let mut journal = format!("# seed{seed}\n");
        let mut kinds = BTreeSet::new();
        for recorded in &sim.journal {
            let told = serde_json::to_value(recorded).unwrap();
            kinds.insert(told["type"].to_string());
            writeln!(journal, "{told}").unwrap();
        }
        (journal, kinds)
    };
    let mut all: Vec<_> = (0..SEEDS).map(kinds).collect();
    let every: BTreeSet<String> = all.iter().flat_map(|(_, kinds)| kinds.clone()).collect();
    let (mut missing, mut chosen, mut times) = (every.clone(), String::new(), 1);
    while times < TIMES || !missing.is_empty() {
        if missing.is_empty() {
            missing.clone_from(&every);
            times += 1;
        }
        all.sort_by_key(|(journal, kinds)| {
            let new = kinds.intersection(&missing).count();
            journal.len().checked_div(new).unwrap_or(usize::MAX)
        });
        let (journal, kinds) = all.remove(0);
        if missing.is_disjoint(&kinds) {
            break;
        }
        missing.retain(|kind| !kinds.contains(kind));
        chosen += &journal;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/engine");
    std::fs::write(folder.join("journals.jsonl"), chosen).unwrap();
}

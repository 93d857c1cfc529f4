//! The same seeds lead to the same nights. What the engine decides in a few hundred simulated
//! nights is kept as digests, so that a change that was meant to change nothing is seen to. One that
//! was meant to writes them anew: `INSTA_UPDATE=always`.

use std::fmt::Write as _;

use unstuck_testkit::{WorldProfile, run};

const SEEDS: u64 = 240;
const STEPS: u64 = 300;

#[test]
fn the_same_seeds_lead_to_the_same_nights() {
    let mut nights = String::new();
    for seed in 0..SEEDS {
        let profile = if seed % 4 == 0 {
            WorldProfile::calm_from_seed(seed)
        } else {
            WorldProfile::wild_from_seed(seed)
        };
        let sim = run::play_simulation(profile, STEPS).unwrap_or_else(|_| panic!("seed {seed}"));
        let mut hasher = blake3::Hasher::new();
        for recorded in &sim.journal {
            hasher.update(&serde_json::to_vec(recorded).unwrap());
        }
        let digest = &hasher.finalize().to_hex()[..12];
        writeln!(nights, "{seed}: {} events, {digest}", sim.journal.len()).unwrap();
    }
    insta::assert_snapshot!(nights);
}

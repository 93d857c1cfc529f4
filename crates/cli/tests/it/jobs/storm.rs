//! A storm over the process that runs the jobs: it is killed again and again while a job runs, and
//! each firing pays once.

use std::collections::BTreeSet;

use unstuck_core::engine::Rng;

use super::{interrupt, project, start_watcher};
use crate::storm::{report_kills, storm_seeds};

/// Seeds that are tried unless more are asked for.
const SEEDS: u64 = 1;
/// Firings of a seed, and the places in each at which the process can be killed.
const FIRINGS: usize = 4;
const PLACES: usize = 2;
/// Kills in a firing: after the third in a row, a person is asked.
const CRASHES_MAX: usize = 2;

const PAYS: &str = "\
[[job]]
name = \"pay\"
run = \"unstuck mutate --key pay --scope firing -- sh -c 'echo $UNSTUCK_IDEMPOTENCY_KEY >>paid' || exit 1; \
        echo >up; read line <go; echo >up; read line <go\"
schedule = \"every second\"
";

// B4, T3.12, TX8: after any kill of the watcher each firing goes on, and pays once.
#[test]
fn after_any_kill_of_the_watcher_each_firing_pays_once() {
    let mut kills = 0;
    for seed in storm_seeds(SEEDS) {
        eprintln!("seed {seed}");
        let mut rng = Rng::from_seed(seed);
        let stage = project(PAYS);
        stage.fifos(&["up", "go"]);
        let mut watcher = start_watcher(&stage);
        for _ in 0..FIRINGS {
            let (mut crashes, mut passed) = (0, 0);
            while passed < PLACES {
                stage.hear("up");
                if crashes < CRASHES_MAX && rng.next_u64().is_multiple_of(2) {
                    watcher.kill();
                    watcher = start_watcher(&stage);
                    (crashes, passed) = (crashes + 1, 0);
                } else {
                    stage.let_go("go");
                    passed += 1;
                }
            }
            kills += crashes;
        }
        // What runs next is ended with the watcher, at whatever place it is.
        assert_eq!(interrupt(watcher), Some(130));
        let paid = stage.wrote("paid");
        let keys: BTreeSet<&str> = paid.lines().collect();
        assert!(keys.len() >= FIRINGS, "{paid}");
        assert_eq!(keys.len(), paid.lines().count(), "each firing pays once: {paid}");
        assert_eq!(stage.questions().len(), 0, "no person is needed");
        assert_eq!(stage.run_locks(), [""; 0], "no process of a run is left");
    }
    report_kills("jobs", kills);
}

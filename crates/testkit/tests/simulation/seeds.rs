//! A share of the simulation for every test run. The gate `simulation` plays 1,300 seeds, and
//! `scripts/simulate --full` the rest.

use unstuck_testkit::WorldProfile;
use unstuck_testkit::run;

fn hold(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(failure) = run::play_seed(WorldProfile::wild_from_seed(seed), 1_000) {
            let moves = run::shrink_moves(&WorldProfile::wild_from_seed(seed), &failure);
            let story = run::render_story(WorldProfile::wild_from_seed(seed), &moves);
            panic!("seed {seed}: {}\n{story}", failure.violation);
        }
    }
}

// TX6, TX9, TX10
#[test]
fn the_invariants_hold_over_seeds_1() {
    hold(0..150);
}

#[test]
fn the_invariants_hold_over_seeds_2() {
    hold(150..300);
}

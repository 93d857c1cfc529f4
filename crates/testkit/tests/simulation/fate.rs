//! I6: a run that was disturbed ends like one that was not.

use unstuck_testkit::WorldProfile;
use unstuck_testkit::twins::{self, Disturbance};

// B4
#[test]
fn a_crash_before_every_single_move_changes_nothing_in_the_end() {
    for seed in 0..40 {
        let profile = WorldProfile::calm_from_seed(seed);
        let (calm, moves) = twins::play_fate(&profile, &[], Disturbance::Crash).unwrap();
        for at in 0..=moves {
            for disturbance in [Disturbance::Crash, Disturbance::LostWrite] {
                twins::check_same_fate(&profile, &calm, &[at], disturbance)
                    .unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
            }
        }
    }
}

//! What was red before anybody began.

use unstuck_core::fault::Code;
use unstuck_world::validate::{Baseline, Compare, Verdict};

use super::repo::block_on;
use super::stage::{Stage, put};
use super::{checks, run};

const OLD: &str = "test ! -f old-bug || { echo 'error: old bug in parser'; exit 1; }; \
                   test ! -f new-bug || { echo 'error: new bug in lexer'; exit 1; }";

// B15: red as it was at the base is said and not charged; red in a new way is.
#[test]
fn a_check_that_was_red_at_the_base_is_said_and_not_charged() {
    let stage = Stage::with(&[("old-bug", "1"), ("a", "1")]);
    let workspace = stage.fresh();
    let checks = checks(&["true", OLD]);
    let baseline = block_on(Baseline::measure(&workspace, &[&checks], &stage.shell())).unwrap();
    assert_eq!(baseline.red().collect::<Vec<_>>(), [OLD]);
    let stored = serde_json::to_vec(&baseline).unwrap();
    let baseline: Baseline = serde_json::from_slice(&stored).unwrap();

    put(&workspace, "a", "2");
    let compared = baseline.used(Compare::Compare).unwrap();
    let Verdict::Green(seen) = run(&stage, &workspace, &checks, &[], compared) else { panic!() };
    assert_eq!((seen.green.len(), seen.red_at_base.len()), (1, 1));
    assert_eq!(seen.red_at_base[0].command, OLD);

    std::fs::remove_file(workspace.directory().join("old-bug")).unwrap();
    put(&workspace, "new-bug", "1");
    let verdict = run(&stage, &workspace, &checks, &[], compared);
    assert!(
        matches!(verdict, Verdict::Red { fault, .. } if fault.code() == Code::ValidationPreCommit)
    );
    // Nothing that somebody has worked in is a base.
    let late = block_on(Baseline::measure(&workspace, &[&checks], &stage.shell())).unwrap_err();
    assert_eq!(late.code(), Code::PreconditionMissing);
}

// B15
#[test]
fn the_base_can_be_required_to_be_green_or_not_be_looked_at() {
    let stage = Stage::with(&[("old-bug", "1")]);
    let workspace = stage.fresh();
    let checks = checks(&[OLD]);
    let baseline = block_on(Baseline::measure(&workspace, &[&checks], &stage.shell())).unwrap();
    let refused = baseline.used(Compare::Strict).unwrap_err();
    assert_eq!(refused.code(), Code::PreconditionMissing);
    let off = baseline.used(Compare::Off).unwrap();
    assert!(matches!(run(&stage, &workspace, &checks, &[], off), Verdict::Red { .. }));
}

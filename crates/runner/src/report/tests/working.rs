//! What was checked, what landed and what else was done.

use std::sync::Arc;

use unstuck_core::engine::{Check, CheckVerdict, Checked};
use unstuck_core::fault::Gate;
use unstuck_core::plan::MutationKind;
use unstuck_store::tables::MutationStatus;

use super::stage::{COMMIT, OTHER, action, done, one};
use crate::report::{Landed, TaskFacts};

#[test]
fn what_was_checked_is_said_and_so_is_what_was_not() {
    let check = |command: &str, verdict| Check { command: command.into(), verdict };
    let gate = |checks| vec![Arc::new(Checked { gate: Gate::PreCommit, checks, more_passed: 0 })];
    let (passed, before) = (CheckVerdict::Passed, CheckVerdict::RedBefore);
    let cases = [
        (vec![], "It is not known what was checked."),
        (gate(vec![]), "Nothing was checked, because no checks are set."),
        (gate(vec![check("sh tests/a.sh", passed)]), "One check passed (“sh tests/a.sh”)."),
        (gate(vec![check("make check", passed)]), "One check passed (“make check”)."),
        (
            gate(vec![check("sh a.sh", passed), check("sh b.sh", before)]),
            "One check passed (“sh a.sh”) and one check failed before the work began and still fails.",
        ),
        (
            gate(vec![check("sh a.sh", before), check("sh b.sh", before)]),
            "Two checks failed before the work began and still fail.",
        ),
        (gate(vec![check("sh a.sh", CheckVerdict::NotMade)]), "One check could not be made."),
    ];
    for (checked, said) in cases {
        let mut task = done("Deploy");
        task.row.moved.checked = checked;
        assert_eq!(one(task).shipped[0].checked.said, said);
    }
}

#[test]
fn the_commits_are_those_that_landed() {
    use MutationKind::{Merge, Push};
    let cases = [
        (vec![], Landed::Unknown),
        (vec![action(Merge, MutationStatus::Failed, "")], Landed::Unknown),
        (vec![action(Merge, MutationStatus::Applied, "")], Landed::Unknown),
        (vec![action(Push, MutationStatus::Applied, COMMIT)], Landed::Unknown),
        (
            vec![action(Merge, MutationStatus::Applied, crate::build::NOTHING_MERGED)],
            Landed::Unchanged,
        ),
        (
            vec![
                action(Merge, MutationStatus::Applied, COMMIT),
                action(Merge, MutationStatus::Applied, crate::build::NOTHING_MERGED),
                action(Merge, MutationStatus::Applied, OTHER),
            ],
            Landed::Commits { ids: vec![COMMIT.to_owned(), OTHER.to_owned()] },
        ),
    ];
    for (actions, landed) in cases {
        let task = TaskFacts { actions, ..done("Deploy") };
        assert_eq!(one(task).shipped[0].landed, landed);
    }
}

#[test]
fn what_else_was_done_is_told_by_its_outcome() {
    use MutationKind::{Command, PullRequest, Push};
    let cases = [
        (vec![action(Push, MutationStatus::Applied, COMMIT)], vec!["It was sent on."]),
        (
            vec![
                action(Push, MutationStatus::Applied, COMMIT),
                action(PullRequest, MutationStatus::Applied, ""),
            ],
            vec!["It was sent on and it was put up for review."],
        ),
        (vec![action(Push, MutationStatus::Failed, "")], vec!["It was not pushed."]),
        // A second attempt has its own push.
        (
            vec![
                action(Push, MutationStatus::Failed, ""),
                action(Push, MutationStatus::Applied, COMMIT),
            ],
            vec!["It was sent on."],
        ),
        (
            vec![
                action(Push, MutationStatus::Applied, COMMIT),
                action(Command, MutationStatus::Skipped, ""),
            ],
            vec!["It was sent on.", "This did not happen: one more step was taken with it."],
        ),
    ];
    for (actions, said) in cases {
        let task = TaskFacts { actions, ..done("Deploy") };
        assert_eq!(one(task).shipped[0].actions.said, said);
    }
}

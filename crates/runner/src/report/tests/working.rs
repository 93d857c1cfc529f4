//! Tests of checks, commits and actions.

use std::sync::Arc;

use unstuck_core::engine::{BuildState, Check, CheckVerdict, Checked};
use unstuck_core::fault::CheckStage;
use unstuck_core::plan::{Call, HttpCall, MutationKind, MutationSpec};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_store::tables::{MutationRow, MutationStatus, QuestionRow, QuestionStatus};

use super::stage::{COMMIT, OTHER, action, done, facts, one, question, red};
use crate::report::{BuildFacts, BuildReport, ReportActionOutcome, TaskFacts, TaskLanding};

#[test]
fn what_was_checked_is_said_and_so_is_what_was_not() {
    let check = |command: &str, verdict| Check { command: command.into(), verdict };
    let gate = |checks| {
        vec![Arc::new(Checked {
            gate: CheckStage::PreCommit,
            checks,
            more_passed: 0,
            put_back: Vec::new(),
        })]
    };
    let passed = CheckVerdict::Passed;
    let before = CheckVerdict::RedBefore;
    let cases = [
        (vec![], "It is not known what was checked."),
        (gate(vec![]), "Nothing was checked, because no checks are set."),
        (gate(vec![check("sh tests/a.sh", passed)]), "One check passed (“sh tests/a.sh”)."),
        (gate(vec![check("make check", passed)]), "One check passed (“make check”)."),
        (
            gate(vec![check("sh a.sh", passed), check("sh b.sh", before)]),
            "One check passed (“sh a.sh”) and one check (“sh b.sh”) failed before the work began and still fails.",
        ),
        (
            gate(vec![check("sh a.sh", before), check("sh b.sh", before)]),
            "Two checks (“sh a.sh”, “sh b.sh”) failed before the work began and still fail.",
        ),
        (
            gate(vec![check("sh a.sh", CheckVerdict::NotMade)]),
            "One check (“sh a.sh”) could not be made.",
        ),
        (
            gate(vec![check("sh a.sh", CheckVerdict::Flaky), check("sh b.sh", passed)]),
            "One check passed (“sh b.sh”) and one check (“sh a.sh”) passed only when run again.",
        ),
        (
            gate(vec![check("sh a.sh", CheckVerdict::Failed); 5]),
            "Five checks (“sh a.sh”, “sh a.sh”, “sh a.sh”, and 2 more) failed.",
        ),
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
        (vec![], TaskLanding::Unknown),
        (vec![action(Merge, MutationStatus::Failed, "")], TaskLanding::Unknown),
        (vec![action(Merge, MutationStatus::Applied, "")], TaskLanding::Unknown),
        (vec![action(Push, MutationStatus::Applied, COMMIT)], TaskLanding::Unknown),
        (
            vec![action(Merge, MutationStatus::Applied, crate::build::NOTHING_MERGED)],
            TaskLanding::Unchanged,
        ),
        (
            vec![
                action(Merge, MutationStatus::Applied, COMMIT),
                action(Merge, MutationStatus::Applied, crate::build::NOTHING_MERGED),
                action(Merge, MutationStatus::Applied, OTHER),
            ],
            TaskLanding::Commits { ids: vec![COMMIT.to_owned(), OTHER.to_owned()] },
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
        (vec![action(Push, MutationStatus::Applied, COMMIT)], vec!["It was pushed."]),
        (
            vec![
                action(Push, MutationStatus::Applied, COMMIT),
                action(PullRequest, MutationStatus::Applied, ""),
            ],
            vec!["It was pushed and a pull request was opened."],
        ),
        (vec![action(Push, MutationStatus::Failed, "")], vec!["It was not pushed."]),
        // A second attempt has its own push.
        (
            vec![
                action(Push, MutationStatus::Failed, ""),
                action(Push, MutationStatus::Applied, COMMIT),
            ],
            vec!["It was pushed."],
        ),
        (
            vec![
                action(Push, MutationStatus::Applied, COMMIT),
                action(Command, MutationStatus::Skipped, ""),
            ],
            vec!["It was pushed.", "Not performed: Command."],
        ),
    ];
    for (actions, said) in cases {
        let task = TaskFacts { actions, ..done("Deploy") };
        assert_eq!(one(task).shipped[0].actions.said, said);
    }
}

#[test]
fn an_action_is_named_and_what_a_person_left_open_is_not_denied() {
    let call = |url: &str| Call::Http(HttpCall { url: url.to_owned(), ..HttpCall::default() });
    let order = |key: &str, status| {
        let spec = MutationSpec::from_call(key, call("http://shop/order-5"));
        MutationRow { spec: Arc::new(spec), ..action(MutationKind::Http, status, "") }
    };
    let told = |row: MutationRow, decision| {
        let fault = red();
        let asked = QuestionRow {
            kind: QuestionKind::Happened,
            signature: "shop:mutation:pay-5".to_owned(),
            decision: Some(decision),
            ..question(QuestionStatus::Skipped, &fault)
        };
        let task = TaskFacts { actions: vec![row], ..done("Deploy") };
        let facts =
            BuildFacts { questions: vec![asked], ..facts(BuildState::Completed, vec![task]) };
        BuildReport::from_facts(&facts).shipped[0].actions.clone()
    };
    let done = told(order("pay-5", MutationStatus::Applied), Decision::ItHappened);
    assert_eq!(done.said, ["Performed: pay-5, “POST http://shop/order-5”."]);
    let open = told(order("pay-5", MutationStatus::Skipped), Decision::Skip);
    let said = "It is not known whether this happened, because you left it open: pay-5, “POST \
                http://shop/order-5”.";
    assert_eq!(
        (open.said, open.each[0].outcome),
        (vec![said.to_owned()], ReportActionOutcome::Unknown)
    );
    let other = told(order("pay-6", MutationStatus::Skipped), Decision::Skip);
    assert_eq!(other.said, ["Not performed: pay-6, “POST http://shop/order-5”."]);
}

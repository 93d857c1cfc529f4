//! Tests of checks, commits, actions, waits, costs, and of overcome errors, which are for operators
//! only.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, CLOSINGS_KEPT_MAX, Check, CheckVerdict, Checked, GateClosing, GateState,
    QuestionId, RunId, Status, TaskState,
};
use unstuck_core::fault::{Auth, CheckStage, Code, Fault, GitOperation};
use unstuck_core::plan::{Call, GateKey, HttpCall, MutationKind, MutationSpec};
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::time::{Span, Time};
use unstuck_store::tables::{
    GateRow, MutationRow, MutationStatus, QuestionRow, QuestionStatus, RunRow, RunStatus,
};

use super::{
    BEGAN, COMMIT, OTHER, action, at, done, facts, one, question, red, refused, run, task,
};
use crate::report::{
    BuildFacts, BuildReport, CostCoverage, ReportActionOutcome, TaskFacts, TaskLanding,
};

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
            "One check (“sh a.sh”) could not be run.",
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
            vec![action(Merge, MutationStatus::Applied, crate::build::NOTHING_CHANGED)],
            TaskLanding::Unchanged,
        ),
        (
            vec![
                action(Merge, MutationStatus::Applied, COMMIT),
                action(Merge, MutationStatus::Applied, crate::build::NOTHING_CHANGED),
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

#[test]
fn waits_count_within_the_build_and_say_when_they_are_not_all_known() {
    let closing = |from, to| GateClosing { from, to, code: Code::ProviderUsageLimit };
    let gate = |closings: Vec<GateClosing>, since: Option<Time>| GateRow {
        key: GateKey(1),
        state: GateState::Passing,
        since,
        closed_by: since.map(|_| Code::ProviderOverloaded),
        closings: closings.into(),
        waiters: 0,
        changed_at: BEGAN,
    };
    let many: Vec<GateClosing> = (1..=u64::try_from(CLOSINGS_KEPT_MAX).unwrap())
        .map(|n| closing(at(n), at(n) + Span::from_secs(30)))
        .collect();
    let because = "because the usage limit of the plan was reached.";
    let cases = [
        (BuildState::Completed, gate(vec![], None), None),
        // A period before the build or after its end does not count.
        (BuildState::Completed, gate(vec![closing(at(70), at(80))], None), None),
        (
            BuildState::Completed,
            gate(vec![closing(BEGAN - Span::from_hours(1), at(20)), closing(at(50), at(80))], None),
            Some(format!("The work waited two times, in all 30 minutes, {because}")),
        ),
        (
            BuildState::Completed,
            gate(many, None),
            Some(format!("The work waited 32 times, in all at least 16 minutes, {because}")),
        ),
        (
            BuildState::Running,
            gate(vec![], Some(at(60))),
            Some(
                "The work waited 30 minutes, because the AI service was too busy. It still waits."
                    .to_owned(),
            ),
        ),
    ];
    for (state, gate, said) in cases {
        let mut facts = facts(state, vec![done("Deploy")]);
        let other = GateRow { key: GateKey(2), ..gate.clone() };
        facts.gates = vec![gate, other];
        let waits = BuildReport::from_facts(&facts).waits;
        let told: Vec<String> = waits.into_iter().map(|wait| wait.said).collect();
        assert_eq!(told, Vec::from_iter(said));
    }
}

#[test]
fn an_unknown_cost_is_not_called_nothing() {
    let spent = |money_micros, tokens| Amount { money_micros, tokens, time_ms: 0 };
    let cases = [
        (vec![spent(5, 1)], CostCoverage::Money),
        (vec![spent(5, 1), spent(0, 0)], CostCoverage::Partly),
        (vec![spent(5, 1), spent(0, 7)], CostCoverage::Partly),
        (vec![spent(0, 7), spent(0, 0)], CostCoverage::TokensOnly),
        (vec![spent(0, 0)], CostCoverage::NotMeasured),
        (vec![], CostCoverage::NotMeasured),
    ];
    for (amounts, priced) in cases {
        let mut tasks: Vec<TaskFacts> = Vec::new();
        for (id, spent) in (0..).zip(amounts) {
            let mut worked = task(id, "Deploy", TaskState::Done);
            worked.row.moved.spent = spent;
            tasks.push(worked);
        }
        let cost = BuildReport::from_facts(&facts(BuildState::Completed, tasks)).cost;
        assert_eq!(cost.priced, priced);
        assert_eq!(cost.took_ms, Span::from_mins(60));
    }
}

// T2.5: the overcome error is for operators; the question is for all readers.
#[test]
fn an_error_that_healed_is_not_in_the_public_view_and_a_question_is() {
    let mut healed = done("Deploy");
    healed.runs = vec![run(0, 0, Some(red())), run(0, 1, Some(red())), run(0, 2, None)];
    let mut facts = facts(BuildState::Waiting, vec![healed]);
    facts.questions = vec![question(QuestionStatus::Pending, &refused())];
    let report = BuildReport::from_facts(&facts);
    assert_eq!(report.healed.len(), 1, "the same error once");
    assert_eq!(report.healed[0].runs, [RunId(0), RunId(1)]);
    assert_eq!(report.healed[0].message, "src/a.rs:3: E1");
    assert_eq!(report.healed[0].said, "The check “make” failed: “E1”.");
    let public = serde_json::to_string(&report.clone().into_public()).unwrap();
    for told in ["VALIDATION_PRE_COMMIT", "src/a.rs", "E1"] {
        assert!(!public.contains(told), "{public}");
    }
    assert!(public.contains("refused the key or password"), "{public}");
    assert_eq!(report.waiting[0].question, QuestionId(4));
}

#[test]
fn what_a_person_was_asked_about_did_not_heal_by_itself() {
    let mut task = done("Deploy");
    task.runs = vec![run(0, 0, Some(refused())), run(0, 1, None)];
    let mut facts = facts(BuildState::Completed, vec![task]);
    facts.questions = vec![question(QuestionStatus::Resolved, &refused())];
    let report = BuildReport::from_facts(&facts);
    assert_eq!((report.healed.len(), report.waiting.len()), (0, 0));
    assert_eq!(report.answered[0].choice, "I have fixed it, try again");
}

#[test]
fn an_error_of_a_task_that_is_not_done_has_not_healed() {
    let mut task = task(0, "Deploy", TaskState::Running { run: RunId(1) });
    task.runs = vec![run(0, 0, Some(red())), run(0, 1, None)];
    assert_eq!(BuildReport::from_facts(&facts(BuildState::Running, vec![task])).healed, []);
}

#[test]
fn a_push_that_never_arrived_has_not_healed() {
    let mut task = done("Deploy");
    let operation = GitOperation { remote: Some("origin".to_owned()), ..GitOperation::default() };
    let refused = "!\trefs/heads/unstuck/b0:refs/heads/unstuck/b0\t[rejected] (fetch first)";
    let fault = Fault::git_push_failed("git.push", refused, operation);
    task.runs = vec![run(0, 0, Some(red())), run(0, 1, Some(fault))];
    task.actions = vec![action(MutationKind::Push, MutationStatus::Failed, "")];
    let report = BuildReport::from_facts(&facts(BuildState::Completed, vec![task]));
    let codes: Vec<Code> = report.healed.iter().map(|healed| healed.code).collect();
    assert_eq!(codes, [Code::ValidationPreCommit]);
    let told = report.remarks.join("\n");
    assert!(told.contains("“! [rejected] unstuck/b0 -> unstuck/b0 (fetch first)”"), "{told}");
}

#[test]
fn an_answer_in_a_persons_own_words_is_shown_as_it_was_given() {
    let task = done("Deploy");
    let mut facts = facts(BuildState::Completed, vec![task]);
    let mut asked = question(QuestionStatus::Resolved, &red());
    asked.guidance = Some("use `httpx`, as README.md says".into());
    facts.questions = vec![asked];
    let report = BuildReport::from_facts(&facts);
    assert_eq!(report.answered[0].words.as_deref(), Some("use `httpx`, as README.md says"));
}

#[test]
fn a_run_that_ended_before_its_agent_began_is_no_attempt() {
    let mut task = task(0, "Deploy", TaskState::Failed { code: Code::AuthMissing });
    task.row.moved.attempts = 2;
    let missing = Fault::auth_missing("claude-cli", "no key", Auth::default());
    let asked = RunStatus::Standing(Status::PausedApproval);
    let unbegun =
        RunRow { status: asked, iterations: 0, tool_calls: 0, ..run(0, 0, Some(missing)) };
    task.runs = vec![unbegun, run(0, 1, Some(red()))];
    let report = BuildReport::from_facts(&facts(BuildState::Completed, vec![task]));
    assert_eq!(report.not_done[0].attempts, 1);
}

//! Tests of the views: overcome errors are for operators, questions for all readers.

use unstuck_core::engine::{BuildState, QuestionId, RunId, Status, TaskState};
use unstuck_core::fault::{Auth, Code, Fault, GitOperation};
use unstuck_core::plan::MutationKind;
use unstuck_store::tables::{MutationStatus, QuestionStatus, RunRow, RunStatus};

use super::stage::{action, done, facts, question, red, refused, run, task};
use crate::report::BuildReport;

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

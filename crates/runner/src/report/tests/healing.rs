//! What healed is for operators, what waits for a person is for everybody.

use unstuck_core::engine::{BuildState, QuestionId, RunId, TaskState};
use unstuck_store::tables::QuestionStatus;

use super::stage::{done, facts, question, red, refused, run, task};
use crate::report::Report;

// T2.5: the error that healed is for operators; the question is for everybody.
#[test]
fn an_error_that_healed_is_not_in_the_public_view_and_a_question_is() {
    let mut healed = done("Deploy");
    healed.runs = vec![run(0, 0, Some(red())), run(0, 1, Some(red())), run(0, 2, None)];
    let mut facts = facts(BuildState::Waiting, vec![healed]);
    facts.questions = vec![question(QuestionStatus::Pending, &refused())];
    let report = Report::of(&facts);
    assert_eq!(report.healed.len(), 1, "the same error once");
    assert_eq!(report.healed[0].runs, [RunId(0), RunId(1)]);
    assert_eq!(report.healed[0].message, "src/a.rs:3: E1");
    let public = serde_json::to_string(&report.clone().public()).unwrap();
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
    let report = Report::of(&facts);
    assert_eq!((report.healed.len(), report.waiting.len()), (0, 0));
    assert_eq!(report.answered[0].choice, "I have fixed it, try again");
}

#[test]
fn an_error_of_a_task_that_is_not_done_has_not_healed() {
    let mut task = task(0, "Deploy", TaskState::Running { run: RunId(1) });
    task.runs = vec![run(0, 0, Some(red())), run(0, 1, None)];
    assert_eq!(Report::of(&facts(BuildState::Running, vec![task])).healed, []);
}

//! Git's own failures: once more at once, and never passed over in silence.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, Command, EffectKind, EffectOutcome, Event, Start, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::plan::{MutationKind, MutationSpec, Plan};
use unstuck_core::question::{Decision, QuestionKind};

use crate::engine::story::{Stage, action, fault, happened, task, with_actions};

// T4.22
#[test]
fn an_unknown_status_is_asked_once_more_and_then_a_person_is() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    stage.fails("a", fault(Code::GitStatusFailed, "status"));
    assert_eq!(stage.owed("a").what, EffectKind::Check, "once more at once");
    stage.fails("a", fault(Code::GitStatusFailed, "status"));
    assert_eq!(stage.question().kind, QuestionKind::Hands);
}

// T4.15
#[test]
fn a_commit_that_fails_at_the_end_is_repeated_once_and_then_asked_about() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    stage.done("a");
    stage.fails("a", fault(Code::GitCommitFailed, "commit"));
    assert_eq!(stage.owed("a").what, EffectKind::Commit);
    stage.fails("a", fault(Code::GitCommitFailed, "commit"));
    assert!(matches!(stage.task_state("a"), TaskState::Parked { .. }), "never done without it");
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(stage.owed("a").what, EffectKind::Commit, "it goes on where it stood");
}

// T4.15
#[test]
fn a_commit_that_fails_half_way_is_warned_about_and_the_work_goes_on() {
    let mut stage = Stage::tasks(&["a"]);
    let raise = |stage: &mut Stage| {
        let effect = stage.effect_id("a");
        let fault = Arc::new(fault(Code::GitCommitFailed, "commit"));
        stage.must(Command::Raise { effect, fault })
    };
    assert!(happened(&raise(&mut stage), "run.tool_waiting"), "once more at once");
    assert!(happened(&raise(&mut stage), "run.warned"));
    stage.succeed("a");
}

// T4.16
#[test]
fn a_push_that_fails_twice_is_warned_about_and_its_task_is_done_all_the_same() {
    let push = MutationSpec { kind: MutationKind::Push, ..action("push") };
    let pr = MutationSpec {
        kind: MutationKind::PullRequest,
        requires: Some("push".to_owned()),
        ..action("pr")
    };
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![push, pr])]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    let failed = || EffectOutcome::Unknown { fault: Arc::new(fault(Code::GitPushFailed, "push")) };
    stage.settle("a", failed());
    stage.settle("a", EffectOutcome::NotApplied);
    assert!(
        matches!(stage.owed("a").what, EffectKind::Perform { .. }),
        "looked up, then once more"
    );
    stage.settle("a", failed());
    let events = stage.settle("a", EffectOutcome::NotApplied);
    assert!(happened(&events, "run.warned"));
    assert_eq!(stage.owed("a").what, EffectKind::Emit, "no pull request follows a failed push");
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
    assert_eq!(stage.state.questions().count(), 0);
}

// T1.9: what was committed is not past a check that comes later.
#[test]
fn a_check_after_the_commit_that_stays_red_is_asked_about_after_three_other_ways() {
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![action("merge")])]);
    let late = || fault(Code::ValidationPrePr, "it never says goodbye");
    for approach in 1..=3 {
        stage.attempt_as("a", approach);
        stage.done("a");
        stage.done("a");
        stage.fails("a", late());
        assert!(matches!(stage.owed("a").what, EffectKind::Attempt { .. }), "approach {approach}");
    }
    stage.attempt_as("a", 4);
    stage.done("a");
    stage.done("a");
    stage.fails("a", late());
    assert_eq!(stage.question().code(), Some(Code::ValidationPrePr));
}

// T4.17
#[test]
fn a_change_that_cannot_be_taken_back_is_set_aside() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::GitRevertFailed, "revert"));
    assert_eq!(stage.question().kind, QuestionKind::Ours);

    // Also where it was seen while the work was checked: nothing more is done in that worktree.
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    assert_eq!(stage.owed("a").what, EffectKind::Check);
    stage.fails("a", fault(Code::GitRevertFailed, "revert"));
    stage.answer(Decision::TryAgain);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::NewWorktree });

    let mut stage = Stage::new();
    let plan = Arc::new(Plan::new(vec![task("a"), task("b")]).unwrap());
    stage.must(Command::StartBuild { plan, slots: 2, in_place: true });
    let events = stage.fails("a", fault(Code::GitRevertFailed, "revert"));
    assert!(events.iter().any(|event| matches!(event, Event::BuildFailed { .. })));
    assert!(stage.state.builds().all(|build| build.state == BuildState::Failed));
}

#[test]
fn a_lock_passes_and_a_conflict_calls_for_another_approach() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.attempt("a");
    stage.fails("a", fault(Code::GitLocked, "index.lock"));
    assert!(matches!(stage.task_state("a"), TaskState::BackingOff { .. }));
    stage.wait();
    assert_eq!(stage.owed("a").what, EffectKind::Check, "the same operation again");
    stage.attempt("b");
    stage.done("a");
    stage.done("a");
    stage.fails("b", fault(Code::GitConflict, "both changed it"));
    assert!(matches!(stage.owed("b").what, EffectKind::Attempt { .. }));
}

// T4.16: a push may be repeated, so an unreachable remote asks no question
#[test]
fn a_push_that_cannot_be_looked_up_is_sent_again_and_then_warned_about() {
    let push = MutationSpec { kind: MutationKind::Push, ..action("push") };
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![push])]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    let lost = || Arc::new(fault(Code::GitPushFailed, "could not resolve host"));
    let mut warned = false;
    for _ in 0..2 {
        assert!(matches!(stage.owed("a").what, EffectKind::Perform { .. }));
        stage.settle("a", EffectOutcome::Unknown { fault: lost() });
        assert!(matches!(stage.owed("a").what, EffectKind::Probe { .. }));
        let events = stage.settle("a", EffectOutcome::Failed { fault: lost(), approach: None });
        warned |= happened(&events, "run.warned");
    }
    assert!(warned);
    assert_eq!(stage.state.questions().count(), 0);
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}

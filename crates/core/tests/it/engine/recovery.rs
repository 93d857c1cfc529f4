//! Kill it anywhere: nothing is lost, nothing is done twice, and it goes on by itself.

use unstuck_core::engine::{
    BrokenInvariant, BuildId, Command, EffectKind, Event, MutationId, QuestionId, RecordedEvent,
    ReplayError, Rule, RunId, Start, State, TaskId, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::tell::question_text;

use crate::engine::story::{Stage, fault, happened, red};

// T2.1, TX10, I10, T0.19, T1.2
#[test]
fn counters_and_waits_are_what_they_were() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.red("a", "boom");
    stage.red("a", "boom");
    stage.fails("b", fault(Code::ProviderCrash, "gone"));
    let (wake, count) =
        (stage.state.next_wake(), stage.state.signatures().count(red("boom").signature));
    let counters = stage.state.task(stage.id("b")).unwrap().counters;
    let written = serde_json::to_string(&stage.journal).unwrap();
    let journal: Vec<RecordedEvent> = serde_json::from_str(&written).unwrap();
    let mut replayed = State::new("demo");
    for recorded in &journal {
        replayed.apply(recorded).unwrap();
    }
    assert_eq!(replayed, stage.state);
    stage.state = replayed;
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.state.next_wake(), wake);
    assert_eq!(stage.state.signatures().count(red("boom").signature), count);
    assert_eq!(stage.state.task(stage.id("b")).unwrap().counters, counters);
}

// B12
#[test]
fn an_agent_goes_on_in_the_same_worktree_and_conversation() {
    let mut stage = Stage::tasks(&["a"]);
    let old = stage.owed("a");
    let events = stage.must(Command::Recover { task: None, clean: false });
    assert!(happened(&events, "run.crashed"));
    let new = stage.owed("a");
    assert_ne!(new.run, old.run, "a crashed run is never reused");
    assert_eq!(new.what, EffectKind::Attempt { start: Start::Resume });
    let late = Command::Settle {
        effect: old.id,
        outcome: unstuck_core::engine::EffectOutcome::Done,
        spent: unstuck_core::policy::Amount::ZERO,
    };
    assert!(stage.try_to(late).is_err(), "late results of the old run are dropped");
}

#[test]
fn work_that_was_done_is_not_done_again() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.owed("a").what, EffectKind::Check);
    stage.done("a");
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.owed("a").what, EffectKind::Commit);
    stage.done("a");
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.owed("a").what, EffectKind::Emit);
    stage.done("a");
    assert_eq!(*stage.task_state("a"), TaskState::Done);
}

#[test]
fn three_crashes_in_a_row_ask_and_one_settled_effect_starts_the_count_over() {
    let mut stage = Stage::tasks(&["a"]);
    stage.must(Command::Recover { task: None, clean: false });
    stage.must(Command::Recover { task: None, clean: false });
    stage.attempt("a");
    stage.must(Command::Recover { task: None, clean: false });
    stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(stage.state.questions().count(), 0);
    stage.must(Command::Recover { task: None, clean: false });
    let asked = stage.question().clone();
    assert_eq!((asked.kind, asked.code()), (QuestionKind::Passing, None), "no fault of ours");
    assert_eq!(asked.why.rule, Rule::CrashedTooOften);
    let told = question_text(&stage.state, &asked, stage.now);
    assert!(told.problem.contains("crashed three times in a row"), "{}", told.problem);
    assert!(!told.problem.contains("support"), "{}", told.problem);
    stage.answer(Decision::TryAgain);
    assert_eq!(stage.owed("a").what, EffectKind::Check);
}

// B6
#[test]
fn what_waits_for_a_person_still_waits_and_can_be_answered() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::AuthInvalid, "no"));
    let events = stage.must(Command::Recover { task: None, clean: false });
    assert_eq!(events, Vec::<Event>::new());
    stage.answer(Decision::ProvideCredentials);
    stage.succeed("a");
}

#[test]
fn a_build_that_was_held_stays_held() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.attempt("b");
    let build = stage.state.builds().next().unwrap().id;
    stage.must(Command::Pause { build });
    stage.must(Command::Recover { task: None, clean: false });
    assert!(stage.state.outstanding_effects().is_empty());
    stage.must(Command::Resume { build });
    assert!(stage.owed_if_any("a").is_some());
    assert_eq!(stage.owed("b").what, EffectKind::Check);
}

/// A night with a little of everything.
fn eventful() -> Stage {
    let mut stage = Stage::new();
    let push = crate::engine::story::action("push");
    stage.build(vec![
        crate::engine::story::with_actions("a", vec![push]),
        crate::engine::story::task("b"),
    ]);
    stage.red("b", "boom");
    stage.fails("b", fault(Code::ProviderRateLimit, "slow down"));
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    let lost = std::sync::Arc::new(fault(Code::NetworkTimeout, "lost"));
    stage.settle("a", unstuck_core::engine::EffectOutcome::Unknown { fault: lost });
    stage.settle("a", unstuck_core::engine::EffectOutcome::CannotTell { said: None });
    stage.answer(Decision::ItHappened);
    stage.job("j", unstuck_core::plan::JobSpec::default());
    stage.fails("j", fault(Code::AuthExpired, "log in"));
    stage.answer(Decision::ProvideCredentials);
    stage.wait();
    stage.must(Command::Recover { task: None, clean: false });
    stage
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    /// A damaged disk may give back wrong bytes, but reading them must not bring us down.
    #[test]
    fn a_damaged_journal_is_read_without_falling_over(
        picks in proptest::collection::vec(proptest::prelude::any::<proptest::sample::Index>(), 0..120),
    ) {
        let journal = eventful().journal;
        let mut state = State::new("demo");
        for pick in picks {
            let before = state.clone();
            if state.apply(pick.get(&journal)).is_err() {
                assert_eq!(state, before, "an event that is refused changes nothing");
            }
        }
        state.outstanding_effects();
        state.next_wake();
    }
}

/// The error of an event that is applied after the journal of an eventful project.
fn refusal(event: Event) -> BrokenInvariant {
    let mut stage = eventful();
    let before = stage.state.clone();
    let seq = before.seq() + 1;
    let error =
        stage.state.apply(&RecordedEvent { seq, at: stage.now, why: None, event }).unwrap_err();
    assert_eq!(stage.state, before, "an event that is refused changes nothing");
    let ReplayError { seq: at, broken } = error;
    assert_eq!(at, seq);
    assert!(error.to_string().contains(&broken.to_string()), "{error}");
    assert_eq!(broken.to_fault().code(), Code::InternalError);
    broken
}

#[test]
fn an_event_about_something_that_does_not_exist_is_refused() {
    let (build, task, run) = (BuildId(99), TaskId(99), RunId(99));
    let (question, mutation) = (QuestionId(99), MutationId(99));
    let known = eventful().state.runs().next().unwrap().id;
    let told = [
        (Event::BuildCompleted { build }, BrokenInvariant::NoBuild(build)),
        (Event::TaskCancelled { task }, BrokenInvariant::NoTask(task)),
        (Event::RunCommitted { run }, BrokenInvariant::NoRun(run)),
        (Event::QuestionWithdrawn { question }, BrokenInvariant::NoQuestion(question)),
        (Event::MutationFailed { mutation }, BrokenInvariant::NoAction(mutation)),
        (Event::MutationInFlight { mutation, run: known }, BrokenInvariant::NoAction(mutation)),
    ];
    for (event, broken) in told {
        assert_eq!(refusal(event), broken);
    }
}

#[test]
fn a_journal_without_its_beginning_is_refused() {
    let journal = eventful().journal;
    let error = State::new("demo").apply(&journal[1]).unwrap_err();
    assert_eq!(error, ReplayError { seq: 2, broken: BrokenInvariant::NoTask(TaskId(0)) });
}

#[test]
fn a_run_whose_task_is_missing_from_the_snapshot_is_refused() {
    let state = Stage::tasks(&["a"]).state;
    let run = state.runs().next().unwrap().clone();
    let mut written = serde_json::to_value(&state).unwrap();
    written["tasks"].as_object_mut().unwrap().remove(&run.task.0.to_string()).unwrap();
    let mut read: State = serde_json::from_value(written).unwrap();
    let event = Event::RunCommitted { run: run.id };
    let recorded = RecordedEvent { seq: 9, at: unstuck_core::time::Time::EPOCH, why: None, event };
    let broken = BrokenInvariant::NoTask(run.task);
    assert_eq!(read.apply(&recorded), Err(ReplayError { seq: 9, broken }));
}

#[test]
fn what_we_ended_ourselves_counts_as_no_crash() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..5 {
        let events = stage.must(Command::Recover { task: None, clean: true });
        assert!(happened(&events, "run.crashed"));
    }
    assert_eq!(stage.state.questions().count(), 0);
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters.crashes, 0);
}

#[test]
fn taking_up_one_task_leaves_the_others_alone() {
    let mut stage = Stage::tasks(&["a", "b"]);
    let (a, b) = (stage.owed("a"), stage.owed("b"));
    stage.must(Command::Recover { task: Some(stage.id("a")), clean: false });
    assert_ne!(stage.owed("a").run, a.run);
    assert_eq!(stage.owed("b"), b, "this one was not said to be gone");
}

#[test]
fn taking_up_one_task_looks_up_only_what_was_under_way() {
    let mut stage = Stage::new();
    let actions = vec![crate::engine::story::action("push"), crate::engine::story::action("mail")];
    stage.build(vec![
        crate::engine::story::with_actions("a", actions),
        crate::engine::story::task("b"),
    ]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage.applied("a");
    let recover =
        |stage: &Stage, name| Command::Recover { task: Some(stage.id(name)), clean: false };
    let events = stage.must(recover(&stage, "a"));
    assert_eq!(
        crate::engine::story::named(&events, "mutation.probing").count(),
        1,
        "the push is settled"
    );
    stage.fails("b", fault(Code::AuthInvalid, "no"));
    let events = stage.must(recover(&stage, "b"));
    assert_eq!(events, Vec::<Event>::new(), "it waits for a person, and nothing of it was running");
}

#[test]
fn only_what_stands_still_for_a_reason_goes_on_under_its_own_id() {
    use unstuck_core::engine::Status;
    let paused = [
        Status::PausedTransient,
        Status::PausedApproval,
        Status::PausedReconciliation,
        Status::PausedUser,
    ];
    assert!(paused.into_iter().all(Status::is_paused));
    let over = [Status::Active, Status::FailedLogic, Status::FailedConfig, Status::FailedInternal];
    assert!(!over.into_iter().any(Status::is_paused));
}

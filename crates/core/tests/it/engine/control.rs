//! A person's hand on the work: pause, resume, cancel, skip, retry, forget.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildState, Command, CommandIssuer, CommandRejection, EffectChange, EffectKind, Event, Start,
    Status, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::plan::Request;
use unstuck_core::question::Decision;

use crate::engine::story::{Stage, action, fault, happened, needing, red, task, with_actions};

fn build(stage: &Stage) -> unstuck_core::engine::BuildId {
    stage.state.builds().next().unwrap().id
}

// TX9
#[test]
fn a_pause_is_no_failure_charges_nothing_and_ends_under_the_same_run() {
    let mut stage = Stage::tasks(&["a"]);
    let (run, effect) = (stage.owed("a").run, stage.owed("a").id);
    let before = stage.state.task(stage.id("a")).unwrap().counters;
    let id = build(&stage);
    stage.must(Command::Pause { build: id });
    assert!(stage.released.contains(&EffectChange::Stop(effect)), "its agent is stopped");
    assert_eq!(stage.state.run(run).unwrap().status, Status::PausedUser);
    assert_eq!(stage.state.task(stage.id("a")).unwrap().counters, before);
    assert!(stage.try_to(Command::Pause { build: id }).is_err());
    stage.must(Command::Resume { build: id });
    assert_eq!(stage.owed("a").run, run);
    assert_eq!(stage.owed("a").what, EffectKind::Attempt { start: Start::Resume });
    stage.succeed("a");
}

#[test]
fn what_cannot_be_stopped_half_way_ends_its_step_first() {
    let mut stage = Stage::tasks(&["a"]);
    stage.attempt("a");
    let id = build(&stage);
    stage.must(Command::Pause { build: id });
    stage.done("a");
    assert!(stage.owed_if_any("a").is_none(), "held before the next step");
    stage.must(Command::Resume { build: id });
    assert_eq!(stage.owed("a").what, EffectKind::Commit);
}

#[test]
fn nothing_starts_in_a_held_build_and_answers_wait_for_it() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", fault(Code::AuthInvalid, "no"));
    let id = build(&stage);
    stage.must(Command::Pause { build: id });
    stage.answer(Decision::ProvideCredentials);
    assert!(stage.state.outstanding_effects().is_empty());
    stage.must(Command::Resume { build: id });
    assert_eq!(stage.state.outstanding_effects().len(), 2);
}

#[test]
fn cancelling_ends_everything_but_an_action_under_way() {
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![action("push")]), task("b"), needing("c", &["b"])]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    let id = build(&stage);
    stage.must(Command::Cancel { build: id });
    assert_eq!(*stage.task_state("b"), TaskState::Cancelled);
    assert_eq!(*stage.task_state("c"), TaskState::Cancelled);
    assert!(
        matches!(stage.owed("a").what, EffectKind::Perform { .. }),
        "its outcome is still recorded"
    );
    stage.applied("a");
    assert_eq!(*stage.task_state("a"), TaskState::Cancelled);
    assert!(stage.state.outstanding_effects().is_empty());
    assert!(stage.try_to(Command::Cancel { build: id }).is_err());
}

// T4.14
#[test]
fn settings_that_cannot_work_end_the_whole_build() {
    let mut stage = Stage::tasks(&["a", "b"]);
    let fault = Arc::new(fault(Code::ConfigMissing, "no file"));
    let id = build(&stage);
    let events = stage.must(Command::Abort { build: id, fault: Arc::clone(&fault) });
    assert!(events.iter().any(|event| matches!(event, Event::BuildFailed { .. })));
    let ended = stage.state.build(id).unwrap();
    assert_eq!((ended.state, &ended.failure), (BuildState::Failed, &Some(fault)));
    assert!(stage.state.outstanding_effects().is_empty());
}

#[test]
fn a_task_can_be_left_out_while_it_runs_but_not_in_the_middle_of_an_action() {
    let mut stage = Stage::new();
    stage.build(vec![with_actions("a", vec![action("push")]), needing("b", &["a"])]);
    stage.attempt("a");
    let id = stage.id("a");
    assert!(stage.try_to(Command::Skip { task: id }).is_err(), "its checks run");
    stage.fails("a", red("boom"));
    stage.must(Command::Skip { task: id });
    assert!(matches!(stage.task_state("b"), TaskState::Skipped { .. }));
    assert!(stage.try_to(Command::Skip { task: id }).is_err());
}

#[test]
fn a_task_cannot_be_retried_before_what_it_needs() {
    let mut stage = Stage::new();
    stage.build(vec![task("a"), needing("b", &["a"])]);
    let (a, b) = (stage.id("a"), stage.id("b"));
    stage.must(Command::Skip { task: a });
    assert!(stage.try_to(Command::Retry { task: b }).is_err());
    stage.must(Command::Retry { task: a });
    stage.succeed("a");
    assert!(stage.try_to(Command::Retry { task: a }).is_err(), "it is done");
    stage.succeed("b");
}

#[test]
fn forgetting_an_error_gives_it_fresh_tries() {
    let mut stage = Stage::tasks(&["a"]);
    for _ in 0..3 {
        stage.red("a", "boom");
    }
    let signature = Some(red("boom").signature);
    stage.must(Command::Forget { signature });
    assert!(!happened(&stage.red("a", "boom"), "agent.waiting_for_input"));
    stage.must(Command::Forget { signature: None });
    assert_eq!(stage.state.signatures().count(red("boom").signature), 0);
}

#[test]
fn a_person_can_end_a_break_early() {
    let mut stage = Stage::tasks(&["a"]);
    stage.fails("a", fault(Code::ProviderCrash, "gone"));
    let id = stage.id("a");
    stage.must(Command::Kick { task: id });
    assert!(stage.owed_if_any("a").is_some());
    assert_eq!(stage.state.next_wake(), None);
}

#[test]
fn the_most_urgent_task_that_can_start_takes_the_free_place() {
    let mut stage = Stage::new();
    let mut urgent = task("urgent");
    urgent.priority = 5;
    stage.build_with_slots(vec![task("a"), urgent, task("b")], 1);
    assert!(stage.owed_if_any("urgent").is_some());
    assert!(stage.owed_if_any("a").is_none());
    // A parked task leaves its place.
    stage.fails("urgent", fault(Code::AuthInvalid, "no"));
    assert!(stage.owed_if_any("a").is_some());
    assert!(stage.owed_if_any("b").is_none());
}

#[test]
fn an_ended_build_is_kept_until_another_one_starts() {
    let mut stage = Stage::new();
    let first = stage.build(vec![with_actions("a", vec![action("mail")])]);
    let id = stage.id("a");
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage.applied("a");
    stage.done("a");
    assert!(stage.state.build(first).is_some() && stage.state.task(id).is_some());
    stage.build(vec![task("b")]);
    assert!(stage.state.build(first).is_none() && stage.state.task(id).is_none());
    assert_eq!(stage.state.mutations().count(), 0, "the store remembers what it did");
}

#[test]
fn an_order_is_written_down_with_who_gave_it() {
    let mut stage = Stage::tasks(&["a"]);
    let pause = Command::Pause { build: build(&stage) };
    let order = CommandIssuer { by: "Ada".into(), request: None };
    let events = stage.must(order.clone().wrap_command(pause.clone()));
    let Some(Event::Ordered { by, build: Some(_), .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(&**by, "Ada");
    // Without a request it is another order, and refused like any.
    assert!(stage.try_to(order.wrap_command(pause)).is_err());
}

#[test]
fn the_same_request_is_carried_out_once() {
    let mut stage = Stage::tasks(&["a"]);
    let id = build(&stage);
    let order = |said| {
        let request = Some(Request { key: "k".into(), said });
        CommandIssuer { by: "Ada".into(), request }
    };
    let pause = Command::Pause { build: id };
    assert!(!stage.must(order(1).wrap_command(pause.clone())).is_empty());
    stage.must(Command::Resume { build: id });
    // Its answer was lost, and the build went on meanwhile: it is not held once more.
    assert_eq!(stage.must(order(1).wrap_command(pause.clone())), []);
    assert!(matches!(stage.state.build(id).unwrap().state, BuildState::Running));
    assert_eq!(stage.state.handled_request("k").unwrap().build, Some(id));
    assert_eq!(
        stage.try_to(order(2).wrap_command(pause)),
        Err(CommandRejection::RequestReused("k".to_owned()))
    );
}

#[test]
fn what_was_refused_is_not_taken() {
    let mut stage = Stage::tasks(&["a"]);
    let id = build(&stage);
    let order =
        CommandIssuer { by: "Ada".into(), request: Some(Request { key: "k".into(), said: 1 }) };
    assert!(stage.try_to(order.clone().wrap_command(Command::Resume { build: id })).is_err());
    stage.must(Command::Pause { build: id });
    assert!(!stage.must(order.wrap_command(Command::Resume { build: id })).is_empty());
}

// TX12: what needs a task that waits for a person waits for that person, too
#[test]
fn a_build_whose_last_tasks_need_a_parked_one_waits_for_a_person() {
    let mut stage = Stage::new();
    let id = stage.build(vec![task("a"), needing("b", &["a"]), needing("c", &["b"]), task("d")]);
    stage.fails("a", fault(Code::AuthInvalid, "the key was refused"));
    assert_eq!(stage.state.build(id).unwrap().state, BuildState::Running, "d is at work");
    stage.succeed("d");
    assert_eq!(stage.state.build(id).unwrap().state, BuildState::Waiting);
    stage.answer(Decision::ProvideCredentials);
    assert_eq!(stage.state.build(id).unwrap().state, BuildState::Running);
    for name in ["a", "b", "c"] {
        stage.succeed(name);
    }
    assert_eq!(stage.state.build(id).unwrap().state, BuildState::Completed);
}

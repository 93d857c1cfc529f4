//! What the simulation found in the engine, each as the smallest story that shows it.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, Command, EffectKind, EffectOutcome, Event, GateKey, GateState, Operation, SkipReason,
    TaskId, TaskState,
};
use unstuck_core::fault::Code;
use unstuck_core::plan::{MutationKind, MutationSpec};
use unstuck_core::policy::Amount;
use unstuck_core::question::Decision;
use unstuck_core::time::Span;

use crate::desk::{Desk, acting, action, job, task, unknown};

const T0: TaskId = TaskId(0);
const T1: TaskId = TaskId(1);
const T2: TaskId = TaskId(2);

fn is_check(work: &EffectKind) -> bool {
    matches!(work, EffectKind::Check)
}

fn performs(work: &EffectKind) -> bool {
    matches!(work, EffectKind::Perform { .. })
}

#[test]
fn a_parked_task_stays_parked_when_its_paused_build_goes_on() {
    let mut desk = Desk::new();
    desk.start(1, vec![task("a", &[])]);
    desk.done_until(T0, is_check);
    desk.give(Command::Pause { build: BuildId(0) });
    desk.fails(T0, Code::AuthInvalid);
    desk.give(Command::Resume { build: BuildId(0) });
    assert!(matches!(desk.task(T0), TaskState::Parked { .. }));
    assert_eq!(desk.questions(), 1);
}

#[test]
fn a_head_that_moved_leads_to_another_check_without_going_back_a_phase() {
    let mut desk = Desk::new();
    let merge = MutationSpec { kind: MutationKind::Merge, ..action("merge") };
    desk.start(1, vec![acting("a", vec![merge])]);
    desk.done_until(T0, performs);
    desk.settle(T0, EffectOutcome::HeadMoved);
    desk.done(T0);
    let events = desk.done(T0);
    assert!(!events.iter().any(|event| matches!(event, Event::RunPhase { .. })), "{events:?}");
}

// TX6
#[test]
fn a_script_that_ends_before_its_action_waits_for_the_call_that_is_under_way() {
    let mut desk = Desk::with_job("j");
    let script = desk.owed(T0).id;
    desk.give(Command::Mutate { effect: script, mutation: action("k") });
    desk.fails(T0, Code::LogicError);
    assert!(performs(&desk.owed(T0).what), "it is not looked up while it is sent");
    desk.settle(T0, EffectOutcome::Applied { result: Arc::from("") });
    assert!(matches!(desk.task(T0), TaskState::Running { .. }));
}

#[test]
fn a_call_that_failed_after_its_script_ended_does_not_hold_the_job_up() {
    let mut desk = Desk::with_job("j");
    let script = desk.owed(T0).id;
    desk.give(Command::Mutate { effect: script, mutation: action("k") });
    desk.settle(T0, EffectOutcome::Done);
    desk.fails(T0, Code::NetworkTimeout);
    assert!(matches!(desk.owed(T0).what, EffectKind::Execute { .. }), "it runs again from the top");
}

#[test]
fn a_budget_that_ran_out_over_an_action_holds_the_task_with_its_build() {
    let mut desk = Desk::new();
    desk.policy.budget.per_build.tokens = 10;
    desk.start(1, vec![job("j")]);
    let script = desk.owed(T0).id;
    desk.give(Command::Mutate { effect: script, mutation: action("k") });
    let amount = Amount { tokens: 11, ..Amount::ZERO };
    desk.give(Command::Reserve { effect: script, amount });
    desk.settle(T0, EffectOutcome::Applied { result: Arc::from("") });
    assert!(matches!(desk.task(T0), TaskState::Pending { run: Some(_) }));
    desk.answer(0, Decision::RaiseLimit);
    assert!(matches!(desk.owed(T0).what, EffectKind::Execute { .. }));
}

#[test]
fn what_was_not_allowed_is_taken_back_even_when_that_fails_at_first() {
    let mut desk = Desk::new();
    desk.start(1, vec![task("a", &[])]);
    desk.fails(T0, Code::PermissionFileAccess);
    desk.answer(0, Decision::Deny);
    desk.fails(T0, Code::LogicError);
    assert!(matches!(desk.owed(T0).what, EffectKind::TakeBack));
    desk.done(T0);
    assert_eq!(*desk.task(T0), TaskState::Skipped { left: SkipReason::Denied });
}

#[test]
fn a_permanent_action_that_one_task_gave_up_is_performed_by_the_next() {
    let mut desk = Desk::new();
    let shared = || MutationSpec { permanent: true, ..action("shared") };
    desk.start(2, vec![acting("a", vec![shared()]), acting("b", vec![shared()])]);
    desk.done_until(T0, performs);
    desk.fails(T0, Code::AuthInvalid);
    desk.done_until(T1, performs);
    desk.done(T1);
    assert!(matches!(desk.owed(T1).what, EffectKind::Emit));
}

#[test]
fn a_permanent_action_that_failed_is_performed_by_the_next_firing() {
    let mut desk = Desk::new();
    let shared = || MutationSpec { permanent: true, ..action("shared") };
    desk.give(Command::DefineJob { spec: Arc::new(job("j")) });
    desk.give(Command::FireJob { task: T0 });
    let effect = desk.owed(T0).id;
    desk.give(Command::Mutate { effect, mutation: shared() });
    let sent = desk.state.outstanding_effects().pop().unwrap().id;
    let outcome =
        EffectOutcome::Failed { fault: crate::desk::fault(Code::LogicError), approach: None };
    desk.give(Command::Settle { effect: sent, outcome, spent: Amount::ZERO });
    desk.done(T0);
    desk.done(T0);
    desk.give(Command::FireJob { task: T0 });
    let effect = desk.owed(T0).id;
    desk.give(Command::Mutate { effect, mutation: shared() });
    desk.give(Command::Recover { task: None, clean: false });
    assert!(matches!(desk.task(T0), TaskState::Reconciling { .. }));
}

#[test]
fn a_cancelled_build_still_asks_what_became_of_its_action() {
    let mut desk = Desk::new();
    desk.start(1, vec![acting("a", vec![MutationSpec { probe: false, ..action("k") }])]);
    desk.done_until(T0, performs);
    desk.settle(T0, unknown(Code::NetworkTimeout));
    desk.give(Command::Cancel { build: BuildId(0) });
    assert_eq!(desk.questions(), 1);
    // Another build does not make the engine forget the one that is asked about.
    desk.start(1, vec![task("b", &[])]);
    desk.answer(0, Decision::ItHappened);
    assert_eq!(*desk.task(T0), TaskState::Cancelled);
}

#[test]
fn a_script_that_fails_in_a_cancelled_build_waits_for_its_action() {
    let mut desk = Desk::new();
    desk.start(1, vec![job("j")]);
    let script = desk.owed(T0).id;
    desk.give(Command::Mutate { effect: script, mutation: action("k") });
    desk.give(Command::Cancel { build: BuildId(0) });
    desk.fails(T0, Code::LogicError);
    assert!(matches!(desk.task(T0), TaskState::Reconciling { .. }));
    desk.done(T0);
    assert_eq!(*desk.task(T0), TaskState::Cancelled);
}

#[test]
fn a_task_that_needs_another_lost_one_is_not_revived_to_wait_for_ever() {
    let mut desk = Desk::new();
    desk.start(2, vec![task("a", &[]), task("b", &[]), task("c", &["a", "b"])]);
    desk.fails(T0, Code::ConfigInvalid);
    desk.fails(T1, Code::ConfigInvalid);
    desk.give(Command::Retry { task: T0 });
    assert_eq!(*desk.task(T2), TaskState::Skipped { left: SkipReason::Needs { task: T1 } });
    desk.give(Command::Retry { task: T1 });
    for task in [T0, T0, T0, T0, T1, T1, T1, T1, T2, T2, T2, T2] {
        desk.done(task);
    }
    assert!(desk.is_over(0));
    assert_eq!(*desk.task(T2), TaskState::Done);
}

#[test]
fn an_agent_that_repairs_a_script_gets_no_endless_tries_and_charges_no_repair() {
    let mut desk = Desk::with_job("j");
    desk.fails(T0, Code::LogicError);
    let repair = desk.owed(T0).id;
    for _ in 0..3 {
        let fault = crate::desk::fault(Code::ToolMissing);
        desk.give(Command::Raise { effect: repair, fault });
    }
    assert_eq!(desk.state.task(T0).unwrap().counters.repairs, 1);
    let fault = crate::desk::fault(Code::ToolMissing);
    desk.give(Command::Raise { effect: repair, fault });
    assert_eq!(desk.questions(), 1);
}

#[test]
fn a_repair_that_left_its_scope_is_repaired_again_and_never_becomes_a_task() {
    let mut desk = Desk::with_job("j");
    desk.fails(T0, Code::LogicError);
    desk.fails(T0, Code::ScopeForbidden);
    assert!(matches!(desk.owed(T0).what, EffectKind::Repair { .. }));
}

#[test]
fn a_script_in_a_plan_is_not_fired_again_under_those_who_need_it() {
    let mut desk = Desk::new();
    desk.start(1, vec![job("j"), task("a", &["j"])]);
    desk.done(T0);
    desk.done(T0);
    assert!(desk.try_give(Command::FireJob { task: T0 }).is_err());
}

#[test]
fn a_task_that_is_done_again_has_declared_nothing() {
    let mut desk = Desk::new();
    desk.start(1, vec![task("a", &[])]);
    let effect = desk.owed(T0).id;
    desk.give(Command::Mutate { effect, mutation: action("k") });
    desk.give(Command::Skip { task: T0 });
    desk.give(Command::Retry { task: T0 });
    assert!(desk.state.task(T0).unwrap().declared.is_empty());
}

#[test]
fn several_calls_that_run_into_one_usage_window_count_it_once() {
    let mut desk = Desk::new();
    desk.start(4, vec![task("a", &[]), task("b", &[]), task("c", &[]), task("d", &[])]);
    for id in (0..4).map(TaskId) {
        desk.fails(id, Code::ProviderUsageLimit);
    }
    assert_eq!(desk.questions(), 0);
    assert_eq!(desk.state.gate(GateKey(1)).unwrap().windows, 1);
}

// TX6
#[test]
fn an_action_that_was_looked_up_too_early_is_looked_up_again() {
    let mut desk = Desk::new();
    let slow = MutationSpec { settle_ms: Span::from_secs(30), ..action("k") };
    desk.start(1, vec![acting("a", vec![slow])]);
    desk.done_until(T0, performs);
    desk.settle(T0, unknown(Code::NetworkTimeout));
    // The look-up begins at once and ends after the action could still have appeared.
    desk.now = desk.now + Span::from_secs(40);
    desk.settle(T0, EffectOutcome::NotApplied);
    desk.wait();
    assert!(matches!(desk.owed(T0).what, EffectKind::Probe { .. }));
}

// TX6
#[test]
fn a_call_may_have_been_made_long_after_it_was_decided() {
    let mut desk = Desk::new();
    let slow = MutationSpec { settle_ms: Span::from_secs(30), ..action("k") };
    desk.start(1, vec![acting("a", vec![slow])]);
    desk.done_until(T0, performs);
    desk.now = desk.now + Span::from_hours(1);
    desk.give(Command::Recover { task: None, clean: false });
    desk.settle(T0, EffectOutcome::NotApplied);
    assert!(matches!(desk.task(T0), TaskState::Reconciling { .. }), "it may still appear");
}

#[test]
fn an_action_that_was_looked_up_in_vain_keeps_its_tries() {
    let mut desk = Desk::new();
    desk.start(1, vec![acting("a", vec![action("k")])]);
    desk.done_until(T0, performs);
    desk.fails(T0, Code::NetworkTimeout);
    desk.wait();
    desk.give(Command::Recover { task: None, clean: false });
    desk.settle(T0, EffectOutcome::NotApplied);
    let count = desk.state.task(T0).unwrap().transient_failures(Operation::Mutate).count;
    assert_eq!(count, 1, "a crash gives no try back");
}

// B10
#[test]
fn those_who_waited_at_a_gate_go_on_in_growing_groups() {
    let mut desk = Desk::new();
    let names: Vec<String> = (0..9).map(|n| format!("t{n}")).collect();
    desk.start(9, names.iter().map(|name| task(name, &[])).collect());
    for id in (0..9).map(TaskId) {
        desk.fails(id, Code::ProviderRateLimit);
    }
    desk.wait();
    assert!(matches!(desk.state.gate(GateKey(1)).unwrap().state, GateState::Probing { .. }));
    assert_eq!(desk.state.outstanding_effects().len(), 1);
    desk.done(T0);
    for at_work in [2, 4, 8, 9] {
        desk.wait();
        assert_eq!(desk.state.outstanding_effects().len(), at_work);
    }
}

#[test]
fn looking_up_one_action_again_does_not_forget_the_next() {
    let mut desk = Desk::with_job("j");
    let script = desk.owed(T0).id;
    for key in ["k", "l"] {
        let id = desk.state.seq();
        desk.give(Command::Mutate { effect: script, mutation: action(key) });
        let call =
            desk.state.outstanding_effects().into_iter().find(|effect| effect.id.0 > id).unwrap();
        let lost = unknown(Code::NetworkTimeout);
        let spent = Amount::ZERO;
        desk.give(Command::Settle { effect: call.id, outcome: lost, spent });
        let probe =
            desk.state.outstanding_effects().into_iter().find(|e| e.id > call.id).unwrap().id;
        let outcome = EffectOutcome::CannotTell { said: None };
        desk.give(Command::Settle { effect: probe, outcome, spent });
    }
    desk.settle(T0, EffectOutcome::Done);
    desk.give(Command::CheckAgain { question: unstuck_core::engine::QuestionId(0) });
    desk.settle(T0, EffectOutcome::Applied { result: Arc::from("") });
    assert!(matches!(desk.task(T0), TaskState::Parked { .. }));
}

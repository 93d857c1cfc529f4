//! Repeats an operation that failed for a transient reason: once at once, because it often succeeds
//! the second time, after a backoff, or in the next firing of a scheduled job.

use std::sync::Arc;

use super::park::ask_about_fault;
use super::{RunMove, gate};
use crate::engine::ask::open_question;
use crate::engine::end::finish_task_because;
use crate::engine::event::{Event, Reconciled};
use crate::engine::gate::GateState;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::question::Subject;
use crate::engine::run::{Operation, Phase, Status, Step};
use crate::engine::task::{Task, TaskState, Transient};
use crate::engine::transition::{Transition, internal_fault};
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Origin, Reaction, Work};
use crate::question::QuestionKind;
use crate::time::Time;

/// Number of consecutive service failures that closes the gate for all work on the account.
const ERRORS_THAT_CLOSE: u32 = 2;

pub(super) fn back_off(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some((task, next)) = turn.known_run(run).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    let operation = next.step.operation();
    let is_scheduled = turn.known_task(task).is_some_and(Task::is_scheduled);
    let again = if is_scheduled {
        ask_when_due(turn, task, fault);
        plan_repetition(turn, task, operation, fault)
    } else {
        repeat_or_ask(turn, run, operation, fault)
    };
    let Some((until, why)) = again else { return };
    let Some(key) = turn.known_task(task).map(|task| task.spec.gate) else { return };
    turn.end_run(run, Status::PausedTransient, fault.code());
    let was_due = is_scheduled && turn.known_task(task).is_some_and(|task| task.fire_later);
    if was_due && !holds_up(turn, fault, until) {
        give_way_to_next_firing(turn, task);
        return;
    }
    let errors = turn.state.gate(key).map_or(0, |gate| gate.errors);
    let closes = fault.code().row().reaction == Reaction::BackoffThenGate
        && errors >= ERRORS_THAT_CLOSE
        && next.step.needs_gate();
    let waiting = turn.state.gate(key).map(|gate| gate.state);
    if closes && !matches!(waiting, Some(GateState::Waiting { .. })) {
        gate::close_gate(turn, key, until, fault.code(), Rule::SecondFailureClosesGate);
    }
    let (until, gate) = if closes { (None, Some(key)) } else { (Some(until), None) };
    turn.emit_with_reason(Event::TaskBackingOff { task, until, gate, run: None, next }, why);
}

/// Returns when and why an operation that failed for a transient reason is repeated. `None` if it
/// was repeated as often as allowed: then the run stops and the operator is asked.
pub(in crate::engine) fn repeat_or_ask(
    turn: &mut Transition<'_>,
    run: RunId,
    operation: Operation,
    fault: &Arc<Fault>,
) -> Option<(Time, Why)> {
    let task = turn.task_of_run(run)?;
    let id = task.id;
    let Transient { count, since } = task.transient_failures(operation);
    let limit = turn.policy.limits_for(fault.code(), &task.spec.overrides).transient;
    // An agent's task can wait out an outage; a job's next firing comes anyway, and a connector has
    // a client waiting.
    let waited = task.work() == Work::Job
        || fault.origin == Origin::Connector
        || turn.now.since(since) >= turn.policy.retry.transient_for_ms;
    if count > limit && waited {
        let why = Why::with_code(Rule::MaxRetriesExceeded, fault.code());
        ask_about_fault(turn, run, fault, why.with_count(Charge::Transient, count, limit));
        return None;
    }
    plan_repetition(turn, id, operation, fault)
}

/// Returns when and why an operation that failed for a transient reason is repeated.
fn plan_repetition(
    turn: &mut Transition<'_>,
    task: TaskId,
    operation: Operation,
    fault: &Fault,
) -> Option<(Time, Why)> {
    let task = turn.known_task(task)?;
    let count = task.transient_failures(operation).count;
    let limit = turn.policy.limits_for(fault.code(), &task.spec.overrides).transient;
    let why = Why::with_code(Rule::PassesByItself, fault.code());
    // A scheduled job repeats it for as long as there is time.
    let why =
        if task.is_scheduled() { why } else { why.with_count(Charge::Transient, count, limit) };
    let nth = count.saturating_sub(1);
    let after = fault.retry_after;
    let at = fault.resets_at;
    let until = turn.policy.backoff.next_retry_at(nth, after, at, turn.now, turn.rng);
    Some((until, why))
}

/// Repeats an operation at once, a limited number of times.
pub(super) fn retry_once(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    reaction: Reaction,
) -> Option<RunMove> {
    let step = turn.known_run(run)?.step;
    let task = turn.task_of_run(run)?;
    let (counter, count) = if fault.charges(task.work()).contains(&Charge::Git) {
        (Charge::Git, task.counters.git)
    } else {
        (Charge::Transient, task.transient_failures(step.operation()).count)
    };
    let limit = turn.policy.retry.git;
    let why = |rule| Why::with_code(rule, fault.code()).with_count(counter, count, limit);
    if count <= limit {
        Some(RunMove::To(step))
    } else if reaction == Reaction::RetryOnceWarn {
        continue_with_warning(turn, run, step, fault, why(Rule::GoesOnWithWarning))
    } else {
        ask_about_fault(turn, run, fault, why(Rule::MaxRetriesExceeded));
        None
    }
}

/// Continues the work with a warning. A failed action is skipped, and so are the actions that need
/// it.
fn continue_with_warning(
    turn: &mut Transition<'_>,
    run: RunId,
    step: Step,
    fault: &Fault,
    why: Why,
) -> Option<RunMove> {
    let task = turn.known_run(run)?.task;
    turn.emit_with_reason(Event::Warned { task, run, code: fault.code() }, why.clone());
    if let Some(mutation) = turn.state.mutation_at(run) {
        let to = Reconciled::Skipped;
        turn.emit_with_reason(
            Event::MutationReconciled { mutation, to, result: Arc::from("") },
            why,
        );
    }
    Some(match step {
        // Actions are walked again: the ledger knows that this one is settled.
        Step::Mutate { .. } => RunMove::To(step),
        // Only the session's runtime can say that the work is done.
        Step::Attempt { .. } if turn.is_session_run(run) => RunMove::To(step),
        Step::Execute => {
            turn.reach_phase(run, Phase::Emitting);
            RunMove::To(Step::Emit)
        }
        _ => RunMove::Past(step),
    })
}

// Scheduled jobs keep their schedule: a firing that is still trying when the next one is due gives
// up for it, and the operator is told when that has gone on for long.

/// Returns whether an unfinished firing only waits for a transient failure to pass.
pub(in crate::engine) fn is_only_waiting(turn: &Transition<'_>, task: &Task) -> bool {
    if !task.is_scheduled() {
        return false;
    }
    let backs_off =
        matches!(task.state, TaskState::BackingOff { until: Some(_), gate: None, run: None });
    backs_off || turn.state.is_parked_over_transient(task)
}

/// Returns whether an unfinished firing waits as long as a service has asked for: firings that come due
/// meanwhile would only be refused.
pub(in crate::engine) fn is_asked_to_wait(turn: &Transition<'_>, task: &Task) -> bool {
    let TaskState::BackingOff { until: Some(until), gate: None, run: None } = task.state else {
        return false;
    };
    task.is_scheduled() && task.failure.as_ref().is_some_and(|fault| holds_up(turn, fault, until))
}

/// Returns whether a fault names the time to wait, and that is soon enough not to ask the operator before.
fn holds_up(turn: &Transition<'_>, fault: &Fault, until: Time) -> bool {
    let is_asked = fault.retry_after.is_some() || fault.resets_at.is_some();
    is_asked && until > turn.now && until.since(turn.now) < turn.policy.retry.alert_after_ms
}

/// Ends the firing without success and starts the next one.
pub(in crate::engine) fn give_way_to_next_firing(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.known_task(id) else { return };
    let later = task.fire_later;
    let fault = task.failure.clone();
    let fault = fault.unwrap_or_else(|| internal_fault("a firing gave way and had not failed"));
    let code = fault.code();
    let why = Why::with_code(Rule::NextFiringTries, code);
    finish_task_because(turn, Event::JobMissed { task: id, code }, id, Some(why));
    ask_when_due(turn, id, &fault);
    if !later {
        turn.emit_event(Event::JobFired { task: id });
    }
}

/// Asks the operator about a job that has been failing for long. The job keeps trying all the same.
fn ask_when_due(turn: &mut Transition<'_>, id: TaskId, fault: &Arc<Fault>) {
    let Some(task) = turn.known_task(id) else { return };
    let Some(failing) = task.failing else { return };
    let own = &task.spec.overrides;
    let general = &turn.policy.retry;
    let firings = own.alert_firings.unwrap_or(general.alert_firings);
    let span = own.alert_after_ms.unwrap_or(general.alert_after_ms);
    let subject = Subject::Job(id);
    let is_due = failing.firings >= firings || turn.now.since(failing.since) >= span;
    if is_due && turn.state.question_about(subject).is_none() {
        let why = Why::with_code(Rule::KeepsFailing, fault.code());
        open_question(turn, subject, QuestionKind::Passing, Some(fault), vec![id], why);
    }
}

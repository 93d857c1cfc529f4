//! Repeats an operation that failed for a transient reason, after a backoff.

use std::sync::Arc;

use super::ask::ask_about_fault;
use super::{firing, gate};
use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::run::{Operation, Status};
use crate::engine::task::{Task, Transient};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Origin, Reaction, Work};
use crate::time::Time;

/// Number of consecutive service failures that closes the gate for all work on the account.
const ERRORS_THAT_CLOSE: u32 = 2;

pub(super) fn back_off(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some((task, next)) = turn.state.run(run).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    let operation = next.step.operation();
    let is_scheduled = turn.state.task(task).is_some_and(Task::is_scheduled);
    let again = if is_scheduled {
        firing::ask_when_due(turn, task, fault);
        plan_repetition(turn, task, operation, fault)
    } else {
        repeat_or_ask(turn, run, operation, fault)
    };
    let Some((until, why)) = again else { return };
    let Some(key) = turn.state.task(task).map(|task| task.spec.gate) else { return };
    turn.end_run(run, Status::PausedTransient, fault.code());
    if is_scheduled && turn.state.task(task).is_some_and(|task| task.fire_later) {
        firing::give_way_to_next_firing(turn, task);
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
    let task = turn.state.task(turn.state.run(run)?.task)?;
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
    let task = turn.state.task(task)?;
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

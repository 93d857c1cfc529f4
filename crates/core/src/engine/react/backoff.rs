//! What passes by itself: the same operation again, later.

use std::sync::Arc;

use super::ask::ask_after;
use super::gate;
use crate::engine::decide::Turn;
use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::run::{Operation, Status};
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Origin, Reaction, Work};

/// A service that failed this often in a row closes the gate for everyone.
const ERRORS_THAT_CLOSE: u32 = 2;

pub(super) fn back_off(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some((task, next)) = turn.state.run(run).map(|run| (run.task, run.place().resumed()))
    else {
        return;
    };
    let operation = next.step.operation();
    if let Some(why) = max_retries_exceeded(turn, task, operation, fault) {
        ask_after(turn, run, fault, why);
        return;
    }
    let Some(task) = turn.state.task(task) else { return };
    let (id, key, count) = (task.id, task.spec.gate, task.transient(operation).count);
    let limit = turn.policy.limits(fault.code(), &task.spec.overrides).transient;
    let until = turn.policy.backoff.until(
        count.saturating_sub(1),
        fault.retry_after,
        fault.resets_at,
        turn.now,
        turn.rng,
    );
    let why =
        Why::code(Rule::PassesByItself, fault.code()).counted(Charge::Transient, count, limit);
    turn.end_run(run, Status::PausedTransient);
    let errors = turn.state.gate(key).map_or(0, |gate| gate.errors);
    let closes = fault.code().row().reaction == Reaction::BackoffThenGate
        && errors >= ERRORS_THAT_CLOSE
        && next.step.needs_gate();
    let waiting = turn.state.gate(key).map(|gate| gate.state);
    if closes && !matches!(waiting, Some(GateState::Waiting { .. })) {
        gate::close(turn, key, until, fault.code(), Rule::SecondFailureClosesGate);
    }
    let (until, gate) = if closes { (None, Some(key)) } else { (Some(until), None) };
    turn.decide(Event::TaskBackingOff { task: id, until, gate, run: None, next }, why);
}

/// Why the operation is not repeated any more, if it is not.
pub(in crate::engine) fn max_retries_exceeded(
    turn: &Turn<'_>,
    task: TaskId,
    operation: Operation,
    fault: &Fault,
) -> Option<Why> {
    let task = turn.state.task(task)?;
    let transient = task.transient(operation);
    let limit = turn.policy.limits(fault.code(), &task.spec.overrides).transient;
    // An agent's task can afford to wait out an outage; a job's next firing comes anyway, and a
    // connector has somebody waiting.
    let waited = task.work() == Work::Job
        || fault.origin == Origin::Connector
        || turn.now.since(transient.since) >= turn.policy.retry.transient_for_ms;
    (transient.count > limit && waited).then(|| {
        Why::code(Rule::MaxRetriesExceeded, fault.code()).counted(
            Charge::Transient,
            transient.count,
            limit,
        )
    })
}

//! Waits at the gate that all work on one account shares.

use std::sync::Arc;

use super::park::{ParkRequest, ask_about_fault, park_with_question};
use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::question::Subject;
use crate::engine::run::Status;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Code, Fault, Reaction};
use crate::plan::GateKey;
use crate::question::QuestionKind;
use crate::time::{Span, Time};

pub(super) fn wait_at_gate(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some((task, next)) = turn.known_run(run).map(|run| (run.task, run.position().to_resumed()))
    else {
        return;
    };
    let Some(key) = turn.known_task(task).map(|task| task.spec.gate) else { return };
    if let Some(why) = waited_too_long(turn, key, fault) {
        give_up_waiting(turn, run, key, fault, &why);
        return;
    }
    turn.pause_run(run, Status::PausedTransient, next.step, Some(fault.code()));
    if !is_closed_long_enough(turn, key, fault) {
        let until = reopens_at(turn, key, fault);
        let passed = has_reset_passed(turn, fault);
        let waiting = Event::GateWaiting { gate: key, until, code: fault.code(), passed };
        turn.emit_with_reason(waiting, Why::with_code(Rule::SharedGate, fault.code()));
    }
    let why = Why::with_code(Rule::SharedGate, fault.code());
    turn.emit_with_reason(
        Event::TaskBackingOff { task, until: None, gate: Some(key), run: Some(run), next },
        why,
    );
}

/// Closes the gate for all work on the account.
pub(super) fn close_gate(
    turn: &mut Transition<'_>,
    key: GateKey,
    until: Time,
    code: Code,
    rule: Rule,
) {
    let waiting = Event::GateWaiting { gate: key, until, code, passed: false };
    turn.emit_with_reason(waiting, Why::with_code(rule, code));
}

/// Returns whether the gate is already closed for long enough. A call that is limited while the
/// gate is closed adds nothing, unless the server named a later time.
fn is_closed_long_enough(turn: &Transition<'_>, key: GateKey, fault: &Fault) -> bool {
    match turn.state.gate(key).map(|gate| gate.state) {
        Some(GateState::Waiting { until }) => {
            requested_wait(turn, fault).is_none_or(|wait| turn.now + wait <= until)
        }
        Some(GateState::Passing | GateState::Probing { .. }) | None => false,
    }
}

/// Returns the wait that the server asked for.
fn requested_wait(turn: &Transition<'_>, fault: &Fault) -> Option<Span> {
    let resets_in = fault.resets_at.filter(|at| *at > turn.now).map(|at| at.since(turn.now));
    fault.retry_after.or(resets_in)
}

/// Returns whether the reset time that the server named has just passed by the local clock. Clocks
/// differ, and some services name it to the minute, so the window opens any moment and the account
/// is tried again soon. A time long past does not count.
fn has_reset_passed(turn: &Transition<'_>, fault: &Fault) -> bool {
    let over = match (fault.retry_after, fault.resets_at) {
        (Some(wait), _) => wait == Span::ZERO,
        (None, Some(at)) => {
            at <= turn.now && turn.now.since(at) <= turn.policy.wait.reset_unknown_ms
        }
        (None, None) => false,
    };
    over && fault.code().row().reaction == Reaction::GateUntilReset
}

/// Returns the time at which the account is tried again. The server's time takes precedence, and
/// the engine's own backoff grows, so that a server that always says "soon" is not called all
/// night.
fn reopens_at(turn: &mut Transition<'_>, key: GateKey, fault: &Fault) -> Time {
    let limited = turn.state.gate(key).map_or(0, |gate| gate.limited);
    let policy = turn.policy;
    let now = turn.now;
    if has_reset_passed(turn, fault) {
        return now + policy.backoff.jittered_wait(limited, turn.rng);
    }
    match (fault.code().row().reaction, requested_wait(turn, fault)) {
        (Reaction::GateUntilReset, Some(wait)) => {
            let most = wait.percent(policy.backoff.server_jitter_percent);
            now + wait.saturating_add(turn.rng.up_to(most.min(policy.wait.reset_grace_ms)))
        }
        (Reaction::GateUntilReset, None) => {
            now + policy.backoff.server_wait(policy.wait.reset_unknown_ms, turn.rng)
        }
        (_, Some(wait)) => {
            let ours = policy.backoff.jittered_wait(limited, turn.rng);
            now + policy.backoff.server_wait(wait, turn.rng).max(ours)
        }
        (_, None) => now + policy.backoff.jittered_wait(limited, turn.rng),
    }
}

fn waited_too_long(turn: &Transition<'_>, key: GateKey, fault: &Fault) -> Option<Why> {
    let code = fault.code();
    // Calls in progress when the gate closed say nothing about the end of its wait.
    let gate = turn.state.gate(key).filter(|gate| !gate.is_closed())?;
    let wait = &turn.policy.wait;
    let why = Why::with_code(Rule::WaitedTooLong, code);
    if code.row().reaction == Reaction::GateUntilReset && !has_reset_passed(turn, fault) {
        (gate.windows >= wait.windows)
            .then(|| why.with_count(Charge::Wait, gate.windows, wait.windows))
    } else {
        let since = gate.since?;
        (turn.now.since(since) >= wait.limited_ms).then_some(why)
    }
}

/// Gives the wait up, because it took too long: all tasks that wait at the gate ask the same
/// question.
fn give_up_waiting(
    turn: &mut Transition<'_>,
    run: RunId,
    key: GateKey,
    fault: &Arc<Fault>,
    why: &Why,
) {
    let Some(gate) = turn.known_gate(key) else { return };
    let waiters: Vec<TaskId> = gate.waiters.iter().copied().collect();
    turn.emit_with_reason(Event::GateGivenUp { gate: key }, why.clone());
    ask_about_fault(turn, run, fault, why.clone());
    for id in waiters {
        let Some(task) = turn.known_task(id) else { continue };
        let waiting = ParkRequest {
            task: id,
            run: task.state.run(),
            next: task.next,
            subject: Subject::Error(fault.signature),
            kind: QuestionKind::Choice,
            fault: Some(fault),
            why: why.clone(),
        };
        park_with_question(turn, waiting);
    }
}

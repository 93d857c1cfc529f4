//! Ends waits: those that are due (`Wake`), and earlier ones on the operator's request (`Kick` and
//! `KickGate`).

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::gate::GateState;
use crate::engine::ids::TaskId;
use crate::engine::invariant::BrokenInvariant;
use crate::engine::state::EngineTimer;
use crate::engine::task::TaskState;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::plan::GateKey;

/// Maximum number of timers handled in one decision; the runner wakes the engine again for the
/// rest.
const TIMERS_PER_WAKE_MAX: usize = 256;

/// Rings the timers that are due.
pub(super) fn handle_wake(turn: &mut Transition<'_>) {
    for _ in 0..TIMERS_PER_WAKE_MAX {
        let Some(&(at, timer)) = turn.state.timers.first().filter(|(at, _)| *at <= turn.now) else {
            break;
        };
        let events = turn.events().len();
        fire_timer(turn, timer);
        if turn.events().len() == events {
            turn.report_broken(BrokenInvariant::IdleTimer);
            // No event removes the timer, and it would be due for ever.
            turn.state.timers.remove(&(at, timer));
        }
    }
}

fn fire_timer(turn: &mut Transition<'_>, timer: EngineTimer) {
    let why = Why::from_rule(Rule::WaitOver);
    match timer {
        EngineTimer::Task(id) => flow::make_ready(turn, id),
        EngineTimer::Gate(key) => flow::reopen_gate(turn, key, why),
        EngineTimer::Release(key) => flow::release_waiters(turn, key),
        EngineTimer::Build(build) => flow::resume_build(turn, build, Event::Waking { build }, why),
        EngineTimer::Mutation(id) => flow::probe_action(turn, id, None),
    }
}

pub(super) fn handle_kick(turn: &mut Transition<'_>, id: TaskId) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    match task.state {
        TaskState::BackingOff { gate: Some(gate), .. } => handle_kick_gate(turn, gate),
        TaskState::BackingOff { run, .. } => {
            let next = task.next;
            let ready = Event::TaskReady { task: id, run, next };
            turn.emit_with_reason(ready, Why::from_rule(Rule::PersonAsked));
            Ok(())
        }
        _ => {
            let state = task.state.kind().as_str();
            Err(CommandRejection::NotNow { what: format!("task {id}"), state })
        }
    }
}

pub(super) fn handle_kick_gate(
    turn: &mut Transition<'_>,
    key: GateKey,
) -> Result<(), CommandRejection> {
    match turn.state.gate(key).map(|gate| gate.state) {
        Some(GateState::Waiting { .. }) => {
            flow::reopen_gate(turn, key, Why::from_rule(Rule::PersonAsked));
            Ok(())
        }
        Some(GateState::Passing | GateState::Probing { .. }) | None => {
            Err(CommandRejection::NotNow { what: format!("gate {key}"), state: "not waiting" })
        }
    }
}

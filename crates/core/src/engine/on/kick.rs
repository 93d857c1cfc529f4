//! Handles `Kick` and `KickGate`: the operator ends a wait early.

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::gate::GateState;
use crate::engine::ids::TaskId;
use crate::engine::task::TaskState;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::plan::GateKey;

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

//! Handles `Kick` and `KickGate`: the operator ends a wait early.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::gate::GateState;
use crate::engine::ids::TaskId;
use crate::engine::task::TaskState;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::plan::GateKey;

pub(super) fn on_task(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    match task.state {
        TaskState::BackingOff { gate: Some(gate), .. } => on_gate(turn, gate),
        TaskState::BackingOff { run, .. } => {
            let next = task.next;
            let ready = Event::TaskReady { task: id, run, next };
            turn.decide(ready, Why::rule(Rule::PersonAsked));
            Ok(())
        }
        _ => {
            let state = task.state.standing().as_str();
            Err(Rejected::NotNow { what: format!("task {id}"), state })
        }
    }
}

pub(super) fn on_gate(turn: &mut Turn<'_>, key: GateKey) -> Result<(), Rejected> {
    match turn.state.gate(key).map(|gate| gate.state) {
        Some(GateState::Waiting { .. }) => {
            flow::reopen(turn, key, Why::rule(Rule::PersonAsked));
            Ok(())
        }
        Some(GateState::Passing | GateState::Probing { .. }) | None => {
            Err(Rejected::NotNow { what: format!("gate {key}"), state: "not waiting" })
        }
    }
}

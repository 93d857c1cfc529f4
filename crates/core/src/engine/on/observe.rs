//! Handles `Observe`: records a failed command of the agent. Often the failure is only an
//! observation; one that is judged a fault is raised.

use std::sync::Arc;

use super::raise::handle_raised_fault;
use crate::attempt::{Digest, Judgement};
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::turn::Transition;
use crate::fault::Fault;

pub(super) fn handle_observe(
    turn: &mut Transition<'_>,
    effect: EffectId,
    fault: &Arc<Fault>,
    tree: Option<Digest>,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(CommandRejection::Misfit(effect));
    }
    let id = run.id;
    let judgement = run.seen.judge_without_recording(Some(fault), tree);
    turn.emit_event(Event::Observed { run: id, signature: fault.signature, tree });
    if judgement == Judgement::Fault {
        handle_raised_fault(turn, id, fault);
    }
    Ok(())
}

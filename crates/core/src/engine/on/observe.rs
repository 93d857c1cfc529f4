//! Handles `Observe`: records a failed command of the agent. Often the failure is only an
//! observation; one that is judged a fault is raised.

use std::sync::Arc;

use super::raise::raised;
use crate::attempt::{Digest, Judgement};
use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::turn::Turn;
use crate::fault::Fault;

pub(super) fn on(
    turn: &mut Turn<'_>,
    effect: EffectId,
    fault: &Arc<Fault>,
    tree: Option<Digest>,
) -> Result<(), Rejected> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(Rejected::Misfit(effect));
    }
    let id = run.id;
    let judgement = run.seen.weigh(Some(fault), tree);
    turn.emit(Event::Observed { run: id, signature: fault.signature, tree });
    if judgement == Judgement::Fault {
        raised(turn, id, fault);
    }
    Ok(())
}

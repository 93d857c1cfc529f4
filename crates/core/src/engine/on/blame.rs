//! Handles `Blame`: records the fault that a script names. It counts if the script ends without
//! success.

use std::sync::Arc;

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::run::Step;
use crate::engine::turn::Transition;
use crate::fault::Fault;

pub(super) fn handle_blame(
    turn: &mut Transition<'_>,
    effect: EffectId,
    fault: Arc<Fault>,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if run.step != Step::Execute {
        return Err(CommandRejection::Misfit(effect));
    }
    let run = run.id;
    turn.emit_event(Event::Blamed { run, fault });
    Ok(())
}

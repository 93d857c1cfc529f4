//! Handles `Blame`: records the fault that a script names. It counts if the script ends without
//! success.

use std::sync::Arc;

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::EffectId;
use crate::engine::run::Step;
use crate::engine::turn::Turn;
use crate::fault::Fault;

pub(super) fn on(turn: &mut Turn<'_>, effect: EffectId, fault: Arc<Fault>) -> Result<(), Rejected> {
    let run = turn.run_owed(effect)?;
    if run.step != Step::Execute {
        return Err(Rejected::Misfit(effect));
    }
    let run = run.id;
    turn.emit(Event::Blamed { run, fault });
    Ok(())
}

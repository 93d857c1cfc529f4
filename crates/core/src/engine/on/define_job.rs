//! Handles `DefineJob`: defines a job or changes its definition.

use std::sync::Arc;

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::turn::Turn;
use crate::plan::TaskSpec;

pub(super) fn on(turn: &mut Turn<'_>, spec: Arc<TaskSpec>) -> Result<(), Rejected> {
    let known = turn.state.job(&spec.name);
    let state = match known {
        _ if spec.job.is_none() => "no job",
        Some(known) if known.spec == spec => "defined already",
        _ => {
            let task = known.map_or(TaskId(turn.state.ids.task), |known| known.id);
            turn.emit(Event::JobDefined { task, spec });
            return Ok(());
        }
    };
    Err(Rejected::NotNow { what: spec.name.clone(), state })
}

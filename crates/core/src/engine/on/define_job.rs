//! Handles `DefineJob`: defines a job or changes its definition.

use std::sync::Arc;

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::turn::Transition;
use crate::plan::TaskSpec;

pub(super) fn handle_define_job(
    turn: &mut Transition<'_>,
    spec: Arc<TaskSpec>,
) -> Result<(), CommandRejection> {
    let known = turn.state.job(&spec.name);
    let state = match known {
        _ if spec.job.is_none() => "no job",
        Some(known) if known.spec == spec => "defined already",
        _ => {
            let task = known.map_or(TaskId(turn.state.ids.task), |known| known.id);
            turn.emit_event(Event::JobDefined { task, spec });
            return Ok(());
        }
    };
    Err(CommandRejection::NotNow { what: spec.name.clone(), state })
}

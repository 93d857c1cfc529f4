//! A script is taken into care.

use std::sync::Arc;

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::turn::Turn;
use crate::plan::TaskSpec;

pub(super) fn on(turn: &mut Turn<'_>, spec: Arc<TaskSpec>) -> Result<(), Rejected> {
    let known = turn
        .state
        .tasks()
        .any(|task| Some(task.build) == turn.state.jobs && task.spec.name == spec.name);
    if spec.job.is_none() || known {
        let state = if known { "defined already" } else { "no job" };
        return Err(Rejected::NotNow { what: spec.name.clone(), state });
    }
    let task = TaskId(turn.state.ids.task);
    turn.emit(Event::JobDefined { task, spec });
    Ok(())
}

//! Handles `FireJob` and `JobDue`: runs a job. A job that is still running runs once more
//! afterwards, however often it was fired.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::react::{let_next_try, only_waits};
use crate::engine::task::Task;
use crate::engine::turn::Turn;
use crate::fault::Work;

/// Fires a job on request, even if it is held.
pub(super) fn on(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    let task = job(turn, id)?;
    if task.state.has_ended() {
        turn.emit(Event::JobFired { task: id });
    } else if only_waits(turn, task) || turn.state.rests_over_what_passes(task) {
        let_next_try(turn, id);
    } else if !task.fire_later {
        turn.emit(Event::JobFireLater { task: id });
    }
    Ok(())
}

/// Fires a job whose scheduled time has come, unless it is held.
pub(super) fn on_due(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    if job(turn, id)?.held {
        return Err(Rejected::NotNow { what: id.to_string(), state: "held" });
    }
    on(turn, id)
}

/// Returns the job with this id. A script in a plan is no job: it runs once, in its turn, because
/// other tasks may need it.
pub(super) fn job<'a>(turn: &'a Turn<'_>, id: TaskId) -> Result<&'a Task, Rejected> {
    let task = turn.task(id)?;
    if task.work() == Work::Job && Some(task.build) == turn.state.jobs {
        Ok(task)
    } else {
        Err(Rejected::NotNow { what: id.to_string(), state: "no job" })
    }
}

//! Handles the commands about a job: `DefineJob`, `FireJob`, `JobDue`, `HoldJob` and `ReleaseJob`. A
//! job that is still running runs once more afterwards, however often it was fired.

use std::sync::Arc;

use crate::engine::ask::withdraw_job_question;
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::react::{give_way_to_next_firing, is_asked_to_wait, is_only_waiting};
use crate::engine::task::Task;
use crate::engine::transition::Transition;
use crate::fault::Work;
use crate::plan::TaskSpec;

/// Defines a job or changes its definition.
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

/// Fires a job on request, even if it is held.
pub(super) fn handle_fire_job(
    turn: &mut Transition<'_>,
    id: TaskId,
) -> Result<(), CommandRejection> {
    let task = find_job(turn, id)?;
    if task.state.has_ended() {
        turn.emit_event(Event::JobFired { task: id });
    } else if is_only_waiting(turn, task) || turn.state.is_parked_over_transient(task) {
        give_way_to_next_firing(turn, id);
    } else if !task.fire_later {
        turn.emit_event(Event::JobFireLater { task: id });
    }
    Ok(())
}

/// Fires a job whose scheduled time has come, unless it is held or waits as long as a service has asked for.
pub(super) fn handle_job_due(
    turn: &mut Transition<'_>,
    id: TaskId,
) -> Result<(), CommandRejection> {
    let task = find_job(turn, id)?;
    if task.held {
        return Err(CommandRejection::NotNow { what: id.to_string(), state: "held" });
    }
    if is_asked_to_wait(turn, task) {
        return Ok(());
    }
    handle_fire_job(turn, id)
}

/// Returns the job with this id. A script in a plan is no job: it runs once, in its turn, because
/// other tasks may need it.
fn find_job<'a>(turn: &'a Transition<'_>, id: TaskId) -> Result<&'a Task, CommandRejection> {
    let task = turn.find_task(id)?;
    if task.work() == Work::Job && Some(task.build) == turn.state.jobs {
        Ok(task)
    } else {
        Err(CommandRejection::NotNow { what: id.to_string(), state: "no job" })
    }
}

/// Suspends a job's schedule. A firing in progress continues.
pub(super) fn handle_hold_job(
    turn: &mut Transition<'_>,
    task: TaskId,
) -> Result<(), CommandRejection> {
    if !find_job(turn, task)?.held {
        turn.emit_event(Event::JobHeld { task });
        withdraw_job_question(turn, task);
    }
    Ok(())
}

/// Resumes a job's schedule.
pub(super) fn handle_release_job(
    turn: &mut Transition<'_>,
    task: TaskId,
) -> Result<(), CommandRejection> {
    if find_job(turn, task)?.held {
        turn.emit_event(Event::JobReleased { task });
    }
    Ok(())
}

//! Handles `HoldJob` and `ReleaseJob`: suspends a job's schedule or resumes it. A firing in
//! progress continues.

use super::fire_job::find_job;
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::react::withdraw_job_question;
use crate::engine::turn::Transition;

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

pub(super) fn handle_release_job(
    turn: &mut Transition<'_>,
    task: TaskId,
) -> Result<(), CommandRejection> {
    if find_job(turn, task)?.held {
        turn.emit_event(Event::JobReleased { task });
    }
    Ok(())
}

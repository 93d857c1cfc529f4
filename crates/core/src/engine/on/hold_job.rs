//! Handles `HoldJob` and `ReleaseJob`: suspends a job's schedule or resumes it. A firing in
//! progress continues.

use super::fire_job::job;
use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::react::withdraw_question;
use crate::engine::turn::Turn;

pub(super) fn on(turn: &mut Turn<'_>, task: TaskId) -> Result<(), Rejected> {
    if !job(turn, task)?.held {
        turn.emit(Event::JobHeld { task });
        withdraw_question(turn, task);
    }
    Ok(())
}

pub(super) fn on_release(turn: &mut Turn<'_>, task: TaskId) -> Result<(), Rejected> {
    if job(turn, task)?.held {
        turn.emit(Event::JobReleased { task });
    }
    Ok(())
}

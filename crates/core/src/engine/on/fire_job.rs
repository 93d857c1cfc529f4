//! A job is run; one that still runs is run once more afterwards, however often it was asked.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::turn::Turn;
use crate::fault::Work;

pub(super) fn on(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    // A script in a plan runs once, when its turn comes: others may need it.
    if task.work() != Work::Job || Some(task.build) != turn.state.jobs {
        return Err(Rejected::NotNow { what: id.to_string(), state: "no job" });
    }
    if task.state.has_ended() {
        turn.emit(Event::JobFired { task: id });
    } else if !task.fire_later {
        turn.emit(Event::JobFireLater { task: id });
    }
    Ok(())
}

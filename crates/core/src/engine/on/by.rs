//! Handles `By`: carries out a command of a person and records who gave it.

use super::handle;
use crate::engine::command::{Command, Rejected};
use crate::engine::event::Event;
use crate::engine::turn::Turn;
use crate::engine::wish::{Order, Wish};

pub(super) fn on(turn: &mut Turn<'_>, order: Order, wants: Command) -> Result<(), Rejected> {
    let Order { by, request } = order;
    // A request that was carried out is not carried out again, however often it is sent.
    if let Some(request) = &request
        && let Some(taken) = turn.state.taken(&request.key)
    {
        let same = taken.request.said == request.said;
        return same.then_some(()).ok_or_else(|| Rejected::RequestReused(request.key.to_string()));
    }
    let wish = Wish::of(&wants);
    handle(turn, wants)?;
    // A command that changed nothing leaves no trace.
    if let Some((wish, build, task)) = wish
        && let Some(first) = turn.events().first()
    {
        let build = build.or_else(|| first.event.about().build.filter(|_| wish == Wish::Start));
        turn.emit(Event::Ordered { by, wish, build, task, request });
    }
    Ok(())
}

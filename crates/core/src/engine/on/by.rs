//! Handles `By`: carries out a command of a person and records who gave it.

use super::handle_command;
use crate::engine::command::{Command, CommandRejection};
use crate::engine::event::Event;
use crate::engine::turn::Transition;
use crate::engine::wish::{CommandIssuer, Wish};

pub(super) fn handle_by_person(
    turn: &mut Transition<'_>,
    order: CommandIssuer,
    wants: Command,
) -> Result<(), CommandRejection> {
    let CommandIssuer { by, request } = order;
    // A request that was carried out is not carried out again, however often it is sent.
    if let Some(request) = &request
        && let Some(taken) = turn.state.handled_request(&request.key)
    {
        let same = taken.request.said == request.said;
        return same
            .then_some(())
            .ok_or_else(|| CommandRejection::RequestReused(request.key.to_string()));
    }
    let wish = Wish::from_command(&wants);
    handle_command(turn, wants)?;
    // A command that changed nothing leaves no trace.
    if let Some((wish, build, task)) = wish
        && let Some(first) = turn.events().first()
    {
        let build =
            build.or_else(|| first.event.subject_ids().build.filter(|_| wish == Wish::Start));
        turn.emit_event(Event::Ordered { by, wish, build, task, request });
    }
    Ok(())
}

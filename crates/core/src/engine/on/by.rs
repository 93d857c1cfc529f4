//! Something that a person wants, and who.

use std::sync::Arc;

use super::handle;
use crate::engine::command::{Command, Rejected};
use crate::engine::event::Event;
use crate::engine::turn::Turn;
use crate::engine::wish::Wish;

pub(super) fn on(turn: &mut Turn<'_>, by: Arc<str>, wants: Command) -> Result<(), Rejected> {
    let wish = Wish::of(&wants);
    handle(turn, wants)?;
    // What changed nothing, such as the same request once more, was ordered before.
    if let Some((wish, build, task)) = wish
        && let Some(first) = turn.events().first()
    {
        let build = build.or_else(|| first.event.about().build.filter(|_| wish == Wish::Start));
        turn.emit(Event::Ordered { by, wish, build, task });
    }
    Ok(())
}

//! A build begins.

use std::sync::Arc;

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::plan::{Plan, TaskSpec};

pub(super) fn on(
    turn: &mut Turn<'_>,
    plan: Arc<Plan>,
    slots: u32,
    in_place: bool,
) -> Result<(), Rejected> {
    // A session that was opened is not opened again, however often it is asked for.
    if let Some(request) = plan.session().and_then(TaskSpec::opened_by)
        && let Some((_, same)) = turn.state.opened_by(request)
    {
        return same.then_some(()).ok_or_else(|| Rejected::RequestReused(request.key.to_string()));
    }
    let build = BuildId(turn.state.ids.build);
    // There is one tree of the user's, so one works in it at a time.
    let slots = if in_place { 1 } else { slots.max(1) };
    turn.emit(Event::BuildStarted { build, plan, slots, in_place });
    Ok(())
}

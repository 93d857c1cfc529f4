//! A build begins.

use std::sync::Arc;

use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::plan::Plan;

pub(super) fn on(turn: &mut Turn<'_>, plan: Arc<Plan>, slots: u32, in_place: bool) {
    let build = BuildId(turn.state.ids.build);
    // There is one tree of the user's, so one works in it at a time.
    let slots = if in_place { 1 } else { slots.max(1) };
    turn.emit(Event::BuildStarted { build, plan, slots, in_place });
}

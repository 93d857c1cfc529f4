//! A build begins.

use std::sync::Arc;

use crate::engine::decide::Turn;
use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::plan::Plan;

pub(super) fn on(turn: &mut Turn<'_>, plan: Arc<Plan>, slots: u32, in_place: bool) {
    let build = BuildId(turn.state.ids.build);
    turn.emit(Event::BuildStarted { build, plan, slots: slots.max(1), in_place });
}

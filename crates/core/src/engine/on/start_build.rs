//! Handles `StartBuild`: starts a build of a plan.

use std::sync::Arc;

use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::plan::Plan;

pub(super) fn handle_start_build(
    turn: &mut Transition<'_>,
    plan: Arc<Plan>,
    slots: u32,
    in_place: bool,
) {
    let build = BuildId(turn.state.ids.build);
    // The user has one working tree, so one task works in it at a time.
    let slots = if in_place { 1 } else { slots.max(1) };
    turn.emit_event(Event::BuildStarted { build, plan, slots, in_place });
}

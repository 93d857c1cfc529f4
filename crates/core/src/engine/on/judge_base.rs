//! Handles `JudgeBase`: the operator says, before being asked, whether the red checks of the base
//! belong to the work.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, build: BuildId, belongs: bool) -> Result<(), Rejected> {
    let state = turn.state.build(build).ok_or(Rejected::NoBuild(build))?.state;
    if state.has_ended() {
        return Err(Rejected::NotNow { what: format!("build {build}"), state: state.as_str() });
    }
    turn.decide(Event::BaseJudged { build, belongs }, Why::rule(Rule::PersonDecided));
    Ok(())
}

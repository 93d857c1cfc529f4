//! Handles `Cancel`: the operator ends a build.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, build: BuildId) -> Result<(), Rejected> {
    let known = turn.state.build(build).ok_or(Rejected::NoBuild(build))?;
    if known.state.has_ended() || known.standing {
        let state = if known.standing { "the home of all jobs" } else { known.state.as_str() };
        return Err(Rejected::NotNow { what: format!("build {build}"), state });
    }
    flow::end_build(turn, build, Event::BuildCancelled { build }, Why::rule(Rule::PersonAsked));
    Ok(())
}

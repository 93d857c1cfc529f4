//! Handles `Pause`: the operator holds a build. A pause is no failure, charges no counter and
//! starts no repair.

use crate::engine::command::Rejected;
use crate::engine::event::{Event, PauseCause};
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, build: BuildId) -> Result<(), Rejected> {
    let known = turn.state.build(build).ok_or(Rejected::NoBuild(build))?;
    if !known.state.lets_work() {
        let state = known.state.as_str();
        return Err(Rejected::NotNow { what: format!("build {build}"), state });
    }
    let open_questions = known.open_questions;
    let paused = Event::BuildPaused { build, cause: PauseCause::Person, open_questions };
    flow::hold(turn, build, paused, Why::rule(Rule::PersonAsked));
    Ok(())
}

//! Handles `Pause`: the operator holds a build. A pause is no failure, charges no counter and
//! starts no repair.

use crate::engine::command::CommandRejection;
use crate::engine::event::{Event, PauseCause};
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_pause(
    turn: &mut Transition<'_>,
    build: BuildId,
) -> Result<(), CommandRejection> {
    let known = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?;
    if !known.state.allows_work() {
        let state = known.state.as_str();
        return Err(CommandRejection::NotNow { what: format!("build {build}"), state });
    }
    let open_questions = known.open_questions;
    let paused = Event::BuildPaused { build, cause: PauseCause::Person, open_questions };
    flow::hold_build(turn, build, paused, Why::from_rule(Rule::PersonAsked));
    Ok(())
}

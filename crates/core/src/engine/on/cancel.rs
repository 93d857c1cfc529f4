//! Handles `Cancel`: the operator ends a build.

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_cancel(
    turn: &mut Transition<'_>,
    build: BuildId,
) -> Result<(), CommandRejection> {
    let known = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?;
    if known.state.has_ended() || known.standing {
        let state = if known.standing { "the home of all jobs" } else { known.state.as_str() };
        return Err(CommandRejection::NotNow { what: format!("build {build}"), state });
    }
    flow::end_build(
        turn,
        build,
        Event::BuildCancelled { build },
        Why::from_rule(Rule::PersonAsked),
    );
    Ok(())
}

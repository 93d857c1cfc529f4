//! Handles `Abort`: fails a build that cannot continue, because its settings cannot work.

use std::sync::Arc;

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;

pub(super) fn handle_abort(
    turn: &mut Transition<'_>,
    build: BuildId,
    fault: Arc<Fault>,
) -> Result<(), CommandRejection> {
    let known = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?;
    if known.state.has_ended() || known.standing {
        let state = if known.standing { "the home of all jobs" } else { known.state.as_str() };
        return Err(CommandRejection::NotNow { what: format!("build {build}"), state });
    }
    let why = Why::with_code(Rule::SettingsCannotWork, fault.code());
    flow::end_build(turn, build, Event::BuildFailed { build, fault }, why);
    Ok(())
}

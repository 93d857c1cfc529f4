//! Handles `JudgeBase`: the operator says, before being asked, whether the red checks of the base
//! belong to the work.

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_judge_base(
    turn: &mut Transition<'_>,
    build: BuildId,
    belongs: bool,
) -> Result<(), CommandRejection> {
    let state = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?.state;
    if state.has_ended() {
        return Err(CommandRejection::NotNow {
            what: format!("build {build}"),
            state: state.as_str(),
        });
    }
    turn.emit_with_reason(
        Event::BaseJudged { build, belongs },
        Why::from_rule(Rule::PersonDecided),
    );
    Ok(())
}

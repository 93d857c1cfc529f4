//! Handles `Resume`: the operator resumes a held or sleeping build.

use crate::engine::build::BuildState;
use crate::engine::command::CommandRejection;
use crate::engine::event::{Event, PauseCause, Raised};
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_resume(
    turn: &mut Transition<'_>,
    build: BuildId,
) -> Result<(), CommandRejection> {
    let state = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?.state;
    match state {
        BuildState::Paused { cause } => {
            if cause == PauseCause::Questions {
                let more = turn.policy.retry.pause_after_questions;
                turn.emit_event(Event::LimitRaised { raised: Raised::Questions { build, more } });
            }
        }
        BuildState::Sleeping { .. } => {}
        BuildState::Running
        | BuildState::Waiting
        | BuildState::Completed
        | BuildState::Failed
        | BuildState::Cancelled => {
            let what = format!("build {build}");
            return Err(CommandRejection::NotNow { what, state: state.as_str() });
        }
    }
    flow::resume_build(
        turn,
        build,
        Event::BuildResumed { build },
        Why::from_rule(Rule::PersonAsked),
    );
    Ok(())
}

//! Handles `Resume`: the operator resumes a held or sleeping build.

use crate::engine::build::BuildState;
use crate::engine::command::Rejected;
use crate::engine::event::{Event, PauseCause, Raised};
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, build: BuildId) -> Result<(), Rejected> {
    let state = turn.state.build(build).ok_or(Rejected::NoBuild(build))?.state;
    match state {
        BuildState::Paused { cause } => {
            if cause == PauseCause::Questions {
                let more = turn.policy.retry.pause_after_questions;
                turn.emit(Event::LimitRaised { raised: Raised::Questions { build, more } });
            }
        }
        BuildState::Sleeping { .. } => {}
        BuildState::Running
        | BuildState::Waiting
        | BuildState::Completed
        | BuildState::Failed
        | BuildState::Cancelled => {
            let what = format!("build {build}");
            return Err(Rejected::NotNow { what, state: state.as_str() });
        }
    }
    flow::resume(turn, build, Event::BuildResumed { build }, Why::rule(Rule::PersonAsked));
    Ok(())
}

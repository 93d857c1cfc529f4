//! Handles the commands about a build: `StartBuild`, `Pause`, `Resume`, `Cancel` and `Abort`.

use std::sync::Arc;

use crate::engine::build::BuildState;
use crate::engine::command::CommandRejection;
use crate::engine::end::{end_build, hold_build};
use crate::engine::event::{Event, PauseCause, Raised};
use crate::engine::flow;
use crate::engine::ids::BuildId;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Fault;
use crate::plan::Plan;

/// Starts a build of a plan.
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

/// Holds a build. A pause is no failure, charges no counter and starts no repair.
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
    hold_build(turn, build, paused, Why::from_rule(Rule::PersonAsked));
    Ok(())
}

/// Resumes a held or sleeping build.
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

/// Ends a build on the operator's request.
pub(super) fn handle_cancel(
    turn: &mut Transition<'_>,
    build: BuildId,
) -> Result<(), CommandRejection> {
    check_can_end(turn, build)?;
    end_build(turn, build, Event::BuildCancelled { build }, Why::from_rule(Rule::PersonAsked));
    Ok(())
}

/// Fails a build that cannot continue, because its settings cannot work.
pub(super) fn handle_abort(
    turn: &mut Transition<'_>,
    build: BuildId,
    fault: Arc<Fault>,
) -> Result<(), CommandRejection> {
    check_can_end(turn, build)?;
    let why = Why::with_code(Rule::SettingsCannotWork, fault.code());
    end_build(turn, build, Event::BuildFailed { build, fault }, why);
    Ok(())
}

fn check_can_end(turn: &Transition<'_>, build: BuildId) -> Result<(), CommandRejection> {
    let known = turn.state.build(build).ok_or(CommandRejection::NoBuild(build))?;
    let state = match known.state {
        _ if known.standing => "the home of all jobs",
        state if state.has_ended() => state.as_str(),
        _ => return Ok(()),
    };
    Err(CommandRejection::NotNow { what: format!("build {build}"), state })
}

//! Handles `Report`: an external runtime reports on its session. The engine decides as if the work
//! had been done here.

use std::sync::Arc;

use super::{mutate, settle};
use crate::engine::command::CommandRejection;
use crate::engine::end::end_tasks;
use crate::engine::event::Event;
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::report::{EffectOutcome, SessionReport};
use crate::engine::run::Step;
use crate::engine::transition::Transition;
use crate::plan::{MutationSpec, Request};
use crate::policy::Amount;

pub(super) fn handle_report(
    turn: &mut Transition<'_>,
    id: TaskId,
    told: SessionReport,
) -> Result<(), CommandRejection> {
    if !turn.find_task(id)?.is_session() {
        return Err(CommandRejection::NotNow { what: format!("task {id}"), state: "no session" });
    }
    match told {
        SessionReport::Failed { request, fault, approach } => {
            if is_known_request(turn, id, &request)? {
                return Ok(());
            }
            let outcome = EffectOutcome::Failed { fault, approach };
            settle_attempt(turn, id, outcome, Some(request))
        }
        SessionReport::Done { approach } => {
            settle_attempt(turn, id, EffectOutcome::Attempted { approach }, None)
        }
        SessionReport::Intends { mutation } => intend_action(turn, id, mutation),
        SessionReport::Acted { key, outcome } => settle_reported_action(turn, id, &key, outcome),
    }
}

/// Returns whether this very request was accepted before.
fn is_known_request(
    turn: &Transition<'_>,
    id: TaskId,
    request: &Request,
) -> Result<bool, CommandRejection> {
    let known = turn.find_task(id)?.reports.iter().find(|known| known.key == request.key);
    match known {
        Some(known) if known == request => Ok(true),
        Some(_) => Err(CommandRejection::RequestReused(request.key.to_string())),
        None => Ok(false),
    }
}

/// Settles the session's attempt. A report that no run waits for, because the session is paused or
/// over, changes nothing: its runtime reads what to do instead.
fn settle_attempt(
    turn: &mut Transition<'_>,
    id: TaskId,
    outcome: EffectOutcome,
    request: Option<Request>,
) -> Result<(), CommandRejection> {
    let Some((effect, _)) = current_attempt(turn, id) else { return Ok(()) };
    if let Some(key) = unsettled_action(turn, id) {
        return Err(CommandRejection::NotNow {
            what: format!("action {key:?}"),
            state: "not settled yet",
        });
    }
    if let Some(request) = request {
        turn.emit_event(Event::Reported { task: id, request });
    }
    settle::handle_settle(turn, effect, outcome, Amount::ZERO)
}

/// Returns the effect and the run of the session's current attempt.
fn current_attempt(turn: &Transition<'_>, id: TaskId) -> Option<(EffectId, RunId)> {
    let run = turn.state.run(turn.state.task(id)?.state.run()?)?;
    let effect = run.owes.filter(|_| matches!(run.step, Step::Attempt { .. }))?;
    Some((effect, run.id))
}

/// Returns the key of an action of the session that was sent and whose outcome was not reported.
fn unsettled_action(turn: &Transition<'_>, id: TaskId) -> Option<Arc<str>> {
    let open = turn.state.open_actions(id).next()?;
    turn.state.mutation(open).map(|known| Arc::from(known.spec.key.as_str()))
}

fn intend_action(
    turn: &mut Transition<'_>,
    id: TaskId,
    wanted: MutationSpec,
) -> Result<(), CommandRejection> {
    let Some((_, run)) = current_attempt(turn, id) else {
        let state = turn.find_task(id)?.state.kind().as_str();
        return Err(CommandRejection::NotNow { what: "the session".to_owned(), state });
    };
    mutate::perform_action(turn, run, id, wanted)
}

/// Settles an action that the session performed. Reporting the same outcome again changes nothing.
fn settle_reported_action(
    turn: &mut Transition<'_>,
    id: TaskId,
    key: &str,
    outcome: EffectOutcome,
) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let build = task.build;
    let known = turn.state.action(id, key);
    let known = known.filter(|known| known.task == id);
    let effect = match known.map(|known| &known.state) {
        Some(MutationState::InFlight { effect }) => *effect,
        state => {
            let state = match state {
                Some(state) if is_same_outcome(state, &outcome) => return Ok(()),
                Some(_) => "settled with another outcome",
                None => "not known",
            };
            return Err(CommandRejection::NotNow { what: format!("action {key:?}"), state });
        }
    };
    settle::handle_settle(turn, effect, outcome, Amount::ZERO)?;
    // The build of the session has ended, and the session only waited for this outcome.
    if turn.has_build_ended(build) {
        end_tasks(turn, build);
    }
    Ok(())
}

/// Returns whether the action is already in the state that this outcome leads to.
fn is_same_outcome(state: &MutationState, outcome: &EffectOutcome) -> bool {
    match (state, outcome) {
        (MutationState::Applied { result }, EffectOutcome::Applied { result: told }) => {
            result == told
        }
        (MutationState::NotApplied, EffectOutcome::Failed { .. })
        | (MutationState::Indeterminate, EffectOutcome::Unknown { .. }) => true,
        _ => false,
    }
}

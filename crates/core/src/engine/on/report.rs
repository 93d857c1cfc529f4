//! Handles `Report`: an external runtime reports on its session. The engine decides as if the work
//! had been done here.

use std::sync::Arc;

use super::{mutate, settle};
use crate::engine::build::BuildState;
use crate::engine::command::{Outcome, Rejected, Told};
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::run::Step;
use crate::engine::turn::Turn;
use crate::plan::{MutationSpec, Request};
use crate::policy::Amount;

pub(super) fn on(turn: &mut Turn<'_>, id: TaskId, told: Told) -> Result<(), Rejected> {
    if !turn.task(id)?.is_session() {
        return Err(Rejected::NotNow { what: format!("task {id}"), state: "no session" });
    }
    match told {
        Told::Failed { request, fault, approach } => {
            if is_known(turn, id, &request)? {
                return Ok(());
            }
            let outcome = Outcome::Failed { fault, approach };
            ended(turn, id, outcome, Some(request))
        }
        Told::Done { approach } => ended(turn, id, Outcome::Attempted { approach }, None),
        Told::Intends { mutation } => intends(turn, id, mutation),
        Told::Acted { key, outcome } => acted(turn, id, &key, outcome),
    }
}

/// Returns whether this very request was accepted before.
fn is_known(turn: &Turn<'_>, id: TaskId, request: &Request) -> Result<bool, Rejected> {
    let known = turn.task(id)?.reports.iter().find(|known| known.key == request.key);
    match known {
        Some(known) if known == request => Ok(true),
        Some(_) => Err(Rejected::RequestReused(request.key.to_string())),
        None => Ok(false),
    }
}

/// Settles the session's attempt. A report that no run waits for, because the session is paused or
/// over, changes nothing: its runtime reads what to do instead.
fn ended(
    turn: &mut Turn<'_>,
    id: TaskId,
    outcome: Outcome,
    request: Option<Request>,
) -> Result<(), Rejected> {
    let Some((effect, _)) = attempt(turn, id) else { return Ok(()) };
    if let Some(key) = unsettled(turn, id) {
        return Err(Rejected::NotNow { what: format!("action {key:?}"), state: "not settled yet" });
    }
    if let Some(request) = request {
        turn.emit(Event::Reported { task: id, request });
    }
    settle::on(turn, effect, outcome, Amount::ZERO)
}

/// Returns the effect and the run of the session's current attempt.
fn attempt(turn: &Turn<'_>, id: TaskId) -> Option<(EffectId, RunId)> {
    let run = turn.state.run(turn.state.task(id)?.state.run()?)?;
    let effect = run.owes.filter(|_| matches!(run.step, Step::Attempt { .. }))?;
    Some((effect, run.id))
}

/// Returns the key of an action of the session that was sent and whose outcome was not reported.
fn unsettled(turn: &Turn<'_>, id: TaskId) -> Option<Arc<str>> {
    let known = turn.state.task(id)?.ledger.iter().filter_map(|id| turn.state.mutation(*id));
    let mut open = known.filter(|known| known.state.is_open());
    open.next().map(|known| Arc::from(known.spec.key.as_str()))
}

fn intends(turn: &mut Turn<'_>, id: TaskId, wanted: MutationSpec) -> Result<(), Rejected> {
    let Some((_, run)) = attempt(turn, id) else {
        let state = turn.task(id)?.state.standing().as_str();
        return Err(Rejected::NotNow { what: "the session".to_owned(), state });
    };
    mutate::perform(turn, run, id, wanted)
}

/// Settles an action that the session performed. Reporting the same outcome again changes nothing.
fn acted(turn: &mut Turn<'_>, id: TaskId, key: &str, outcome: Outcome) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    let build = task.build;
    let known = turn.state.action(id, key);
    let known = known.filter(|known| known.task == id);
    let effect = match known.map(|known| &known.state) {
        Some(MutationState::InFlight { effect }) => *effect,
        state => {
            let state = match state {
                Some(state) if is_same(state, &outcome) => return Ok(()),
                Some(_) => "settled with another outcome",
                None => "not known",
            };
            return Err(Rejected::NotNow { what: format!("action {key:?}"), state });
        }
    };
    settle::on(turn, effect, outcome, Amount::ZERO)?;
    // The build of the session has ended, and the session only waited for this outcome.
    if turn.build_state(build).is_some_and(BuildState::has_ended) {
        flow::end_tasks(turn, build);
    }
    Ok(())
}

/// Returns whether the action is already in the state that this outcome leads to.
fn is_same(state: &MutationState, outcome: &Outcome) -> bool {
    match (state, outcome) {
        (MutationState::Applied { result }, Outcome::Applied { result: told }) => result == told,
        (MutationState::NotApplied, Outcome::Failed { .. })
        | (MutationState::Indeterminate, Outcome::Unknown { .. }) => true,
        _ => false,
    }
}

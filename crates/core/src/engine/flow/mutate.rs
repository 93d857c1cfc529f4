//! Performs a task's irreversible actions one after the other, each through the ledger.

use std::sync::Arc;

use super::go;
use super::reconcile::doubt;
use super::step::{emit_next, reach};
use crate::engine::event::{Event, Reconciled};
use crate::engine::ids::{MutationId, RunId};
use crate::engine::ledger::MutationState;
use crate::engine::react::fail;
use crate::engine::run::{Phase, Status, Step};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Fault, Logic};
use crate::time::Span;

/// Maximum number of actions that an agent may declare for one task. An agent that declares more is
/// not to be trusted with them.
pub(in crate::engine) const DECLARED_MAX: usize = 64;

/// Time to wait for another task's permanent action before looking again.
const SHARED_ACTION_AGAIN: Span = Span::from_mins(1);

/// Performs the action that the run is at, or moves on when it is settled.
pub(in crate::engine) fn walk(turn: &mut Turn<'_>, run: RunId) {
    let Some(Step::Mutate { at }) = turn.state.run(run).map(|run| run.step) else { return };
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let Some(spec) = task.action(at).map(Arc::clone) else {
        reach(turn, run, Phase::Mutated);
        emit_next(turn, run);
        return;
    };
    let task_id = task.id;
    let known = turn.state.ledger.find(task, &spec);
    if known.is_some_and(|known| known.spec.arguments != spec.arguments) {
        let context = Logic { step: Some(spec.key.clone()), exit: None };
        let message = "the key was used for an action with other arguments";
        let fault = Fault::logic_bad_input("ledger", message, context);
        fail(turn, run, &Arc::new(fault), None);
        return;
    }
    match known.map(|mutation| (mutation.id, mutation.state.clone())) {
        None => {
            let mutation = MutationId(turn.state.ids.mutation);
            turn.emit(Event::MutationIntended { mutation, run, spec: Arc::clone(&spec) });
            if turn.state.is_doubted(&spec.key) {
                doubt(turn, run, mutation);
            } else {
                send(turn, run, mutation, at);
            }
        }
        Some((mutation, MutationState::Intended | MutationState::NotApplied)) => {
            send(turn, run, mutation, at);
        }
        Some((_, MutationState::Applied { .. } | MutationState::Skipped)) => {
            go(turn, run, Step::Mutate { at: at + 1 });
        }
        Some((
            _,
            MutationState::InFlight { .. }
            | MutationState::Probing { .. }
            | MutationState::Settling { .. }
            | MutationState::Indeterminate,
        )) => {
            // Another task performs the same permanent action: look again later.
            turn.pause_run(run, Status::PausedReconciliation, Step::Mutate { at: 0 }, None);
            let until = turn.now + turn.policy.backoff.asked(SHARED_ACTION_AGAIN, turn.rng);
            let next = turn.state.run(run).map(|run| run.place().resumed());
            if let Some(next) = next {
                turn.decide(
                    Event::TaskBackingOff {
                        task: task_id,
                        until: Some(until),
                        gate: None,
                        run: Some(run),
                        next,
                    },
                    Why::rule(Rule::ProbeFirst),
                );
            }
        }
    }
}

/// Sends an action, or skips it if the action that it requires did not happen.
fn send(turn: &mut Turn<'_>, run: RunId, mutation: MutationId, at: u32) {
    if requirement_met(turn, mutation) {
        turn.emit(Event::MutationInFlight { mutation, run });
    } else {
        let to = Reconciled::Skipped;
        turn.decide(
            Event::MutationReconciled { mutation, to, result: Arc::from("") },
            Why::rule(Rule::NeedsWhatWasLeftOut),
        );
        go(turn, run, Step::Mutate { at: at + 1 });
    }
}

fn requirement_met(turn: &Turn<'_>, id: MutationId) -> bool {
    let Some(mutation) = turn.state.mutation(id) else { return false };
    let Some(required) = &mutation.spec.requires else { return true };
    let required = turn.state.action(mutation.task, required);
    required.is_some_and(|required| matches!(required.state, MutationState::Applied { .. }))
}

//! Performs a task's irreversible actions one after the other, each through the ledger.

use std::sync::Arc;

use super::move_to_step;
use super::reconcile::probe_doubted_action;
use super::step::{move_to_emit, reach_phase};
use crate::engine::event::{Event, Reconciled};
use crate::engine::ids::{MutationId, RunId};
use crate::engine::ledger::MutationState;
use crate::engine::react::handle_failure;
use crate::engine::run::{Phase, Status, Step};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Fault, Logic};
use crate::time::Span;

/// Maximum number of actions that an agent may declare for one task. An agent that declares more is
/// not to be trusted with them.
pub(in crate::engine) const DECLARED_MAX: usize = 64;

/// Time to wait for another task's permanent action before looking again.
const SHARED_ACTION_AGAIN: Span = Span::from_mins(1);

/// Performs the action that the run is at, or moves on when it is settled.
pub(in crate::engine) fn perform_current_action(turn: &mut Transition<'_>, run: RunId) {
    let Some(Step::Mutate { at }) = turn.state.run(run).map(|run| run.step) else { return };
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let Some(spec) = task.action_at(at).map(Arc::clone) else {
        reach_phase(turn, run, Phase::Mutated);
        move_to_emit(turn, run);
        return;
    };
    let task_id = task.id;
    let known = turn.state.ledger.find_action(task, &spec);
    if known.is_some_and(|known| known.spec.arguments != spec.arguments) {
        let context = Logic { step: Some(spec.key.clone()), exit: None };
        let message = "the key was used for an action with other arguments";
        let fault = Fault::logic_bad_input("ledger", message, context);
        handle_failure(turn, run, &Arc::new(fault), None);
        return;
    }
    match known.map(|mutation| (mutation.id, mutation.state.clone())) {
        None => {
            let mutation = MutationId(turn.state.ids.mutation);
            turn.emit_event(Event::MutationIntended { mutation, run, spec: Arc::clone(&spec) });
            if turn.state.is_doubted(&spec.key) {
                probe_doubted_action(turn, run, mutation);
            } else {
                send_action(turn, run, mutation, at);
            }
        }
        Some((mutation, MutationState::Intended | MutationState::NotApplied)) => {
            send_action(turn, run, mutation, at);
        }
        Some((_, MutationState::Applied { .. } | MutationState::Skipped)) => {
            move_to_step(turn, run, Step::Mutate { at: at + 1 });
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
            let until = turn.now + turn.policy.backoff.server_wait(SHARED_ACTION_AGAIN, turn.rng);
            let next = turn.state.run(run).map(|run| run.position().to_resumed());
            if let Some(next) = next {
                turn.emit_with_reason(
                    Event::TaskBackingOff {
                        task: task_id,
                        until: Some(until),
                        gate: None,
                        run: Some(run),
                        next,
                    },
                    Why::from_rule(Rule::ProbeFirst),
                );
            }
        }
    }
}

/// Sends an action, or skips it if the action that it requires did not happen.
fn send_action(turn: &mut Transition<'_>, run: RunId, mutation: MutationId, at: u32) {
    if is_requirement_met(turn, mutation) {
        turn.emit_event(Event::MutationInFlight { mutation, run });
    } else {
        let to = Reconciled::Skipped;
        turn.emit_with_reason(
            Event::MutationReconciled { mutation, to, result: Arc::from("") },
            Why::from_rule(Rule::NeedsWhatWasLeftOut),
        );
        move_to_step(turn, run, Step::Mutate { at: at + 1 });
    }
}

fn is_requirement_met(turn: &Transition<'_>, id: MutationId) -> bool {
    let Some(mutation) = turn.state.mutation(id) else { return false };
    let Some(required) = &mutation.spec.requires else { return true };
    let required = turn.state.action(mutation.task, required);
    required.is_some_and(|required| matches!(required.state, MutationState::Applied { .. }))
}

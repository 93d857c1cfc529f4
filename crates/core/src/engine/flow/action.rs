//! Performs a task's irreversible actions one after the other, each through the ledger, and probes
//! those whose outcome is unknown before anything else happens to their task.

use std::sync::Arc;

use crate::engine::event::{Event, Reconciled};
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::invariant::BrokenInvariant;
use crate::engine::ledger::MutationState;
use crate::engine::react::ask_about_action;
use crate::engine::run::{Next, Status, Step};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Fault, Logic};
use crate::time::Span;

/// Maximum number of actions that an agent may declare for one task. An agent that declares more is
/// not to be trusted with them.
pub(in crate::engine) const DECLARED_MAX: usize = 64;

/// Time to wait for another task's permanent action before looking again.
const SHARED_ACTION_AGAIN: Span = Span::from_mins(1);

/// The text recorded for an action whose record was lost.
const RECORD_LOST: &str = "the record of this action was lost with a part of the journal";

/// The state of a run's current action.
pub(super) enum ActionProgress {
    /// The outcome of the action, or of the same action of another task, is awaited.
    Awaited,
    /// The action is settled, so the next one follows.
    Settled,
    /// The run has no further action.
    AllSettled,
    /// The action cannot be performed.
    Failed(Arc<Fault>),
}

/// Performs the action that the run is at, unless it is settled.
pub(super) fn perform_current_action(
    turn: &mut Transition<'_>,
    run: RunId,
    at: u32,
) -> ActionProgress {
    let Some(task) = turn.task_of_run(run) else { return ActionProgress::Awaited };
    let Some(spec) = task.action_at(at).map(Arc::clone) else { return ActionProgress::AllSettled };
    let task_id = task.id;
    let Ok(known) = turn.state.find_same_action(task, &spec) else {
        let context = Logic { step: Some(spec.key.clone()), ..Logic::default() };
        let message = "the key was used for an action with other arguments";
        let fault = Fault::logic_bad_input("ledger", message, context);
        return ActionProgress::Failed(Arc::new(fault));
    };
    match known.map(|mutation| (mutation.id, &mutation.state)) {
        None => {
            let mutation = MutationId(turn.state.ids.mutation);
            turn.emit_event(Event::MutationIntended { mutation, run, spec: Arc::clone(&spec) });
            if turn.state.is_doubted(&spec.key) {
                probe_doubted_action(turn, run, mutation);
                ActionProgress::Awaited
            } else {
                send_action(turn, run, mutation)
            }
        }
        Some((mutation, MutationState::Intended | MutationState::NotApplied)) => {
            send_action(turn, run, mutation)
        }
        Some((_, MutationState::Applied { .. } | MutationState::Skipped)) => {
            ActionProgress::Settled
        }
        Some((
            _,
            MutationState::InFlight { .. }
            | MutationState::Probing { .. }
            | MutationState::Settling { .. }
            | MutationState::Indeterminate,
        )) => {
            await_shared_action(turn, run, task_id);
            ActionProgress::Awaited
        }
    }
}

/// Sends an action, or skips it if the action that it requires did not happen.
fn send_action(turn: &mut Transition<'_>, run: RunId, mutation: MutationId) -> ActionProgress {
    if is_requirement_met(turn, mutation) {
        turn.emit_event(Event::MutationInFlight { mutation, run });
        ActionProgress::Awaited
    } else {
        let to = Reconciled::Skipped;
        turn.emit_with_reason(
            Event::MutationReconciled { mutation, to, result: Arc::from("") },
            Why::from_rule(Rule::NeedsWhatWasLeftOut),
        );
        ActionProgress::Settled
    }
}

fn is_requirement_met(turn: &Transition<'_>, id: MutationId) -> bool {
    let Some(mutation) = turn.known_mutation(id) else { return false };
    let Some(required) = &mutation.spec.requires else { return true };
    let required = turn.state.action(mutation.task, required);
    required.is_some_and(|required| matches!(required.state, MutationState::Applied { .. }))
}

/// Pauses the run for a while, because another task performs the same permanent action.
fn await_shared_action(turn: &mut Transition<'_>, run: RunId, task: TaskId) {
    turn.pause_run(run, Status::PausedReconciliation, Step::Mutate { at: 0 }, None);
    let until = turn.now + turn.policy.backoff.server_wait(SHARED_ACTION_AGAIN, turn.rng);
    let Some(next) = turn.known_run(run).map(|run| run.position().to_resumed()) else { return };
    turn.emit_with_reason(
        Event::TaskBackingOff { task, until: Some(until), gate: None, run: Some(run), next },
        Why::from_rule(Rule::ProbeFirst),
    );
}

/// Pauses the run until the outcome of its open actions is known; `fault` is handled afterwards. A
/// run that crashed is gone, and its task waits all the same.
pub(in crate::engine) fn reconcile_run(
    turn: &mut Transition<'_>,
    task: TaskId,
    run: RunId,
    fault: Option<Arc<Fault>>,
    next: Next,
) {
    if !turn.state.has_open_action(task) {
        // Nothing would continue the task.
        turn.report_broken(BrokenInvariant::NoOpenAction(task));
    }
    if let Some(step) = turn.state.run(run).map(|run| run.step) {
        let code = fault.as_ref().map(|fault| fault.code());
        turn.pause_run(run, Status::PausedReconciliation, step, code);
    }
    turn.emit_with_reason(
        Event::TaskReconciling { task, run, fault, next },
        Why::from_rule(Rule::ProbeFirst),
    );
    ask_about_indeterminate(turn, task);
}

/// Asks the operator about the open actions that cannot be probed. A call or probe in progress
/// delivers its own result: a probe during the call would miss the action, and it would be sent
/// twice.
pub(super) fn ask_about_indeterminate(turn: &mut Transition<'_>, task: TaskId) {
    for id in turn.state.open_actions(task).collect::<Vec<_>>() {
        let known = turn.state.mutation(id);
        if known.is_some_and(|known| known.state == MutationState::Indeterminate) {
            ask_about_action(turn, id);
        }
    }
}

/// Probes an action, or asks the operator if it cannot be probed. `said` is the response to its
/// call, if there was one.
pub(in crate::engine) fn probe_action(
    turn: &mut Transition<'_>,
    id: MutationId,
    said: Option<Arc<str>>,
) {
    let Some(mutation) = turn.known_mutation(id) else { return };
    if mutation.spec.probe {
        let called_at = (mutation.probes == 0).then_some(mutation.sent_at);
        let probing = Event::MutationProbing { mutation: id, called_at, said };
        turn.emit_with_reason(probing, Why::from_rule(Rule::ProbeFirst));
    } else {
        let unclear = Event::MutationIndeterminate { mutation: id, said };
        turn.emit_with_reason(unclear, Why::from_rule(Rule::CannotTell));
        ask_about_action(turn, id);
    }
}

/// Probes an action whose record was lost before it is sent, because it may have been sent already.
pub(in crate::engine) fn probe_doubted_action(
    turn: &mut Transition<'_>,
    run: RunId,
    id: MutationId,
) {
    turn.emit_with_reason(
        Event::MutationInFlight { mutation: id, run },
        Why::from_rule(Rule::ProbeFirst),
    );
    let found = turn.known_run(run).map(|run| (run.task, run.step, run.position().to_resumed()));
    let Some((task, step, next)) = found else { return };
    if matches!(step, Step::Mutate { .. }) || turn.is_session_run(run) {
        reconcile_run(turn, task, run, None, next);
    }
    probe_action(turn, id, Some(Arc::from(RECORD_LOST)));
}

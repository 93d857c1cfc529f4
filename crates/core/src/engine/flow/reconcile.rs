//! Determines the outcome of an action before anything else happens to its task.

use std::sync::Arc;

use super::step::is_session_run;
use super::{cancel_task, move_to_step};
use crate::engine::build::BuildState;
use crate::engine::event::Event;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::react::{ask_about_action, react_to_fault};
use crate::engine::run::{Next, Phase, Run, Status, Step};
use crate::engine::task::TaskState;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Class, Fault, Work};

/// Returns the number of the task's actions that may have happened without a known outcome.
pub(in crate::engine) fn count_open_mutations(turn: &Transition<'_>, task: TaskId) -> usize {
    open_mutation_ids(turn, task).count()
}

fn open_mutation_ids(turn: &Transition<'_>, task: TaskId) -> impl Iterator<Item = MutationId> {
    turn.state
        .task(task)
        .into_iter()
        .flat_map(|task| &task.ledger)
        .copied()
        .filter(|id| turn.state.mutation(*id).is_some_and(|mutation| mutation.state.is_open()))
}

/// Pauses the run until the outcome of its open actions is known; `fault` is handled afterwards.
pub(in crate::engine) fn reconcile_run(
    turn: &mut Transition<'_>,
    task: TaskId,
    run: RunId,
    fault: Option<Arc<Fault>>,
    next: Next,
) {
    if let Some(step) = turn.state.run(run).map(|run| run.step) {
        let code = fault.as_ref().map(|fault| fault.code());
        turn.pause_run(run, Status::PausedReconciliation, step, code);
    }
    turn.emit_with_reason(
        Event::TaskReconciling { task, run, fault, next },
        Why::from_rule(Rule::ProbeFirst),
    );
    reconcile_rest(turn, task);
}

/// Asks about the open actions that cannot be probed, and continues the task once none is open.
pub(in crate::engine) fn reconcile_rest(turn: &mut Transition<'_>, task: TaskId) {
    for mutation in open_mutation_ids(turn, task).collect::<Vec<_>>() {
        ask_if_indeterminate(turn, mutation);
    }
    continue_after_reconciling(turn, task);
}

/// Asks the operator about an open action that cannot be probed. A call or probe in progress
/// delivers its own result: a probe during the call would miss the action, and it would be sent
/// twice.
fn ask_if_indeterminate(turn: &mut Transition<'_>, id: MutationId) {
    if turn.state.mutation(id).is_some_and(|known| known.state == MutationState::Indeterminate) {
        ask_about_action(turn, id);
    }
}

/// Probes an action, or asks the operator if it cannot be probed. `said` is the response to its
/// call, if there was one.
pub(in crate::engine) fn probe_action(
    turn: &mut Transition<'_>,
    id: MutationId,
    said: Option<Arc<str>>,
) {
    let Some(mutation) = turn.state.mutation(id) else { return };
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

/// The text recorded for an action whose record was lost.
const RECORD_LOST: &str = "the record of this action was lost with a part of the journal";

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
    let found = turn.state.run(run).map(|run| (run.task, run.step, run.position().to_resumed()));
    let Some((task, step, next)) = found else { return };
    if matches!(step, Step::Mutate { .. }) || is_session_run(turn, run) {
        reconcile_run(turn, task, run, None, next);
    }
    probe_action(turn, id, Some(Arc::from(RECORD_LOST)));
}

/// Continues a task whose last open action was settled.
fn continue_after_reconciling(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.state.task(id) else { return };
    let TaskState::Reconciling { run } = task.state else { return };
    if count_open_mutations(turn, id) > 0 {
        return;
    }
    let Some(task) = turn.state.task(id) else { return };
    let build = task.build;
    let work = task.work();
    // A script that ended while the outcome of its action was unknown need not be broken: it runs
    // again and receives the outcome that is known now.
    let is_script = work == Work::Job && turn.state.run(run).is_some_and(is_at_script);
    let fault = task.unsettled.clone();
    let fault = fault.filter(|fault| !(is_script && fault.class() == Class::CodeError));
    let next = if work == Work::Job { position_after_script(turn, id) } else { task.next };
    let run = turn.state.run(run).map(|run| run.id);
    if turn.build_state(build).is_some_and(BuildState::has_ended) {
        if let Some(run) = run {
            turn.cancel_run(run);
        }
        cancel_task(turn, id);
        return;
    }
    match (fault, run) {
        (Some(fault), Some(run)) => react_to_fault(turn, run, &fault),
        (_, run) => {
            turn.emit_with_reason(
                Event::TaskReady { task: id, run, next },
                Why::from_rule(Rule::WaitOver),
            );
        }
    }
}

fn is_at_script(run: &Run) -> bool {
    run.step == Step::Execute
}

/// Returns the place where a job continues whose script ended while an action was open.
fn position_after_script(turn: &Transition<'_>, id: TaskId) -> Next {
    let Some(task) = turn.state.task(id) else { return Next::EXECUTE };
    let undone = task.ledger.iter().any(|id| {
        turn.state.mutation(*id).is_some_and(|mutation| mutation.state == MutationState::NotApplied)
    });
    match task.next.step {
        Step::Emit if !undone => Next { phase: Phase::Emitting, step: Step::Emit },
        _ => Next::EXECUTE,
    }
}

/// Continues the task of a settled action: with its next action, or with the rest of the
/// reconciliation.
pub(in crate::engine) fn continue_after_action(turn: &mut Transition<'_>, id: MutationId) {
    let Some(mutation) = turn.state.mutation(id) else { return };
    let task = mutation.task;
    let run = mutation.run;
    match turn.state.task(task).map(|task| &task.state) {
        Some(TaskState::Reconciling { .. }) => reconcile_rest(turn, task),
        Some(TaskState::Running { run: current }) if *current == run => {
            if let Some(Step::Mutate { at }) = turn.state.run(run).map(|run| run.step) {
                move_to_step(turn, run, Step::Mutate { at: at + 1 });
            }
        }
        _ => {}
    }
}

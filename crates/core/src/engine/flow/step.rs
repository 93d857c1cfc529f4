//! Moves a run from one step to the next: after success, after a failure, and after the outcome of
//! its actions is known.

use std::sync::Arc;

use super::action::{
    ActionProgress, ask_about_indeterminate, perform_current_action, reconcile_run,
};
use crate::attempt::Approach;
use crate::engine::end::{cancel_task, finish_task, skip_task};
use crate::engine::event::Event;
use crate::engine::ids::{MutationId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::react::{RunMove, react_to_fault, record_fault};
use crate::engine::run::{Next, Phase, Status, Step};
use crate::engine::task::{SkipReason, Task, TaskState};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Class, Code, Fault, Files, Missing, UNDONE_ACTION, Work};
use crate::text::{VALUE_CHARS_MAX, number_word, quote_words};

/// Moves the run to `step`. If its build is paused, the run pauses before the step; if the build
/// has ended, the run is cancelled.
pub(in crate::engine) fn move_to_step(turn: &mut Transition<'_>, run: RunId, step: Step) {
    let Some(task) = turn.task_of_run(run) else { return };
    let (task, build) = (task.id, task.build);
    let Some(state) = turn.build_state(build) else { return };
    if state.has_ended() {
        turn.cancel_run(run);
        cancel_task(turn, task);
    } else if !state.allows_work() {
        turn.pause_run(run, state.held_run_status(), step, None);
    } else if turn.is_cut_short(run) && !turn.is_session_run(run) {
        stop_and_requeue(turn, run, step);
    } else {
        let step = in_merge_order(turn, task, step);
        begin_step(turn, run, Event::RunStep { run, step });
    }
}

/// Stops the agent of a step that a fault ended while it was still being performed. The run
/// continues with `step` when it has a slot again.
fn stop_and_requeue(turn: &mut Transition<'_>, run: RunId, step: Step) {
    let Some((task, phase)) = turn.known_run(run).map(|run| (run.task, run.phase)) else { return };
    let next = Next { phase, step }.to_resumed();
    turn.pause_run(run, Status::PausedTransient, next.step, None);
    turn.emit_event(Event::TaskReady { task, run: Some(run), next });
}

/// Begins a run's step. Actions are owed by the ledger, not by the run, and a session has no
/// changes to revert here.
pub(super) fn begin_step(turn: &mut Transition<'_>, run: RunId, event: Event) {
    turn.emit_event(event);
    match turn.known_run(run).map(|run| run.step) {
        Some(Step::Mutate { at }) => match perform_current_action(turn, run, at) {
            ActionProgress::Awaited => {}
            ActionProgress::Settled => move_to_step(turn, run, Step::Mutate { at: at + 1 }),
            ActionProgress::AllSettled => {
                turn.reach_phase(run, Phase::Mutated);
                move_to_emit(turn, run);
            }
            ActionProgress::Failed(fault) => handle_failure(turn, run, &fault, None),
        },
        Some(Step::TakeBack) if turn.is_session_run(run) => {
            turn.emit_event(Event::StepDone { run });
            finish_step(turn, run, Step::TakeBack);
        }
        _ => {}
    }
}

/// Returns `step`, or `AwaitMerge` for a check while another run of the build is being checked and
/// merged. A task that merges nothing does not wait.
pub(super) fn in_merge_order(turn: &Transition<'_>, task: TaskId, step: Step) -> Step {
    let taken = turn
        .known_task(task)
        .filter(|task| task.spec.merges_result())
        .and_then(|task| turn.known_build(task.build))
        .is_some_and(|build| build.merging.is_some());
    if step == Step::Check && taken { Step::AwaitMerge } else { step }
}

/// Moves the run on after its step succeeded.
pub(in crate::engine) fn finish_step(turn: &mut Transition<'_>, run: RunId, step: Step) {
    match step {
        // A session has no work here to check, commit or merge.
        Step::Attempt { .. } if turn.is_session_run(run) => {
            turn.reach_phase(run, Phase::Emitting);
            complete_run(turn, run);
        }
        Step::Attempt { .. } => move_to_step(turn, run, Step::Check),
        Step::AwaitMerge | Step::Check => move_to_step(turn, run, Step::Commit),
        Step::Commit => {
            turn.reach_phase(run, Phase::Prepared);
            if !is_checked_later(turn, run) {
                give_back_tries(turn, run);
            }
            turn.reach_phase(run, Phase::Mutating);
            move_to_step(turn, run, Step::Mutate { at: 0 });
        }
        Step::Mutate { at } => move_to_step(turn, run, Step::Mutate { at: at + 1 }),
        Step::Repair { .. } => move_to_step(turn, run, Step::Execute),
        Step::Execute => {
            turn.reach_phase(run, Phase::Mutated);
            move_to_emit(turn, run);
        }
        Step::Emit => complete_run(turn, run),
        Step::TakeBack => skip_denied_task(turn, run),
    }
}

/// Moves the run to its final step, because all actions are settled.
fn move_to_emit(turn: &mut Transition<'_>, run: RunId) {
    turn.reach_phase(run, Phase::Emitting);
    move_to_step(turn, run, Step::Emit);
}

/// Completes the run and its task.
fn complete_run(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.known_run(run).map(|run| run.task) else { return };
    give_back_tries(turn, run);
    turn.reach_phase(run, Phase::Committed);
    turn.emit_event(Event::RunCommitted { run });
    let unchanged = turn.known_task(task).and_then(unchanged_explanation);
    finish_task(turn, Event::TaskDone { task, unchanged }, task);
}

/// Returns the agent's explanation why no change was needed, if the task changed no file and
/// declared no action.
fn unchanged_explanation(task: &Task) -> Option<Arc<str>> {
    let approach = task.approach.as_ref()?;
    let changed = approach.files_changed > 0 || !task.declared.is_empty();
    (!task.is_session() && !changed).then(|| Arc::from(approach.summary.as_str()))
}

/// Returns whether the work failed at a check that comes after the commit and has yet to pass it.
fn is_checked_later(turn: &Transition<'_>, run: RunId) -> bool {
    let later = |code| matches!(code, Code::ValidationPrePush | Code::ValidationPrePr);
    let task = turn.task_of_run(run);
    task.is_some_and(|task| task.charged.iter().any(|charged| later(charged.signature.code)))
}

/// Gives back the tries that the task charged, because the work got past its errors.
fn give_back_tries(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.task_of_run(run) else { return };
    if !task.charged.is_empty() || task.retrying.is_some() || task.counters.consecutive > 0 {
        let signatures = task.charged.iter().map(|charged| charged.signature).collect();
        turn.emit_event(Event::Recovered { task: task.id, signatures });
    }
}

/// Skips the task after the changes that the operator did not allow were reverted.
fn skip_denied_task(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.known_run(run).map(|run| run.task) else { return };
    let fault = Fault::scope_user_denied("answer", "a person did not allow it", Files::default());
    turn.emit_event(Event::FaultMet {
        task,
        run,
        fault: Arc::new(fault),
        approach: None,
        ends: true,
        passing: false,
    });
    turn.cancel_run(run);
    skip_task(turn, task, SkipReason::Denied);
}

/// Handles the failure of a run's step. Open actions in the ledger come first, whatever the code
/// says.
pub(in crate::engine) fn handle_failure(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
) {
    let Some(task) = turn.task_of_run(run) else { return };
    let id = task.id;
    let build = task.build;
    // The agent's approach turned out to be wrong. An outage says nothing about it.
    let checked = task.approach.clone().filter(|_| fault.class() == Class::CodeError);
    record_fault(turn, run, fault, approach.or(checked), true);
    if turn.state.has_open_action(id) {
        reconcile_run(turn, id, run, Some(Arc::clone(fault)), Next::EXECUTE);
    } else if turn.has_build_ended(build) {
        turn.cancel_run(run);
        cancel_task(turn, id);
    } else {
        react_and_move(turn, run, fault);
    }
}

fn react_and_move(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    match react_to_fault(turn, run, fault) {
        Some(RunMove::To(step)) => resume_at_step(turn, run, step),
        Some(RunMove::Past(step)) => finish_step(turn, run, step),
        None => {}
    }
}

/// Continues the run with `step`. A run that was paused over an action waits for a slot first.
fn resume_at_step(turn: &mut Transition<'_>, id: RunId, step: Step) {
    let Some(run) = turn.known_run(id) else { return };
    let task = run.task;
    let phase = run.phase;
    match turn.known_task(task).map(|task| &task.state) {
        Some(TaskState::Reconciling { .. }) => {
            let next = Next { phase, step }.to_resumed();
            let ready = Event::TaskReady { task, run: Some(id), next };
            turn.emit_with_reason(ready, Why::from_rule(Rule::WaitOver));
        }
        _ => move_to_step(turn, id, step),
    }
}

/// Continues the task of a settled action: with its next action, or with the rest of the
/// reconciliation.
pub(in crate::engine) fn continue_after_action(turn: &mut Transition<'_>, id: MutationId) {
    let Some(mutation) = turn.known_mutation(id) else { return };
    let task = mutation.task;
    let run = mutation.run;
    match turn.known_task(task).map(|task| &task.state) {
        Some(TaskState::Reconciling { .. }) => reconcile_rest(turn, task),
        Some(TaskState::Running { run: current }) if *current == run => {
            if let Some(Step::Mutate { at }) = turn.known_run(run).map(|run| run.step) {
                move_to_step(turn, run, Step::Mutate { at: at + 1 });
            }
        }
        _ => {}
    }
}

/// Asks about the open actions that cannot be probed, and continues the task once none is open.
pub(in crate::engine) fn reconcile_rest(turn: &mut Transition<'_>, task: TaskId) {
    ask_about_indeterminate(turn, task);
    continue_after_reconciling(turn, task);
}

/// Continues a task whose last open action was settled.
fn continue_after_reconciling(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.known_task(id) else { return };
    let TaskState::Reconciling { run } = task.state else { return };
    if turn.state.has_open_action(id) {
        return;
    }
    // A run that crashed is gone.
    let run = turn.state.run(run);
    let work = task.work();
    // A script that ended while the outcome of its action was unknown need not be broken: it runs
    // again and receives the outcome that is known now.
    let is_script = work == Work::Job && run.is_some_and(|run| run.step == Step::Execute);
    let undone = find_undone_action(turn, task).filter(|_| is_script);
    let fault = task.unsettled.clone();
    let fault = fault.filter(|fault| !(is_script && fault.class() == Class::CodeError));
    let is_undone = fault.is_none() && undone.is_some();
    let fault = fault.or_else(|| undone.map(|action| undone_fault(&task.spec.name, &action)));
    let next = if work == Work::Job { position_after_script(turn, task) } else { task.next };
    let build = task.build;
    let run = run.map(|run| run.id);
    if turn.has_build_ended(build) {
        if let Some(run) = run {
            turn.cancel_run(run);
        }
        cancel_task(turn, id);
        return;
    }
    match (fault, run) {
        (Some(fault), Some(run)) => {
            if is_undone {
                record_fault(turn, run, &fault, None, true);
            }
            react_and_move(turn, run, &fault);
        }
        (_, run) => {
            turn.emit_with_reason(
                Event::TaskReady { task: id, run, next },
                Why::from_rule(Rule::WaitOver),
            );
        }
    }
}

/// Number of executions of a script after which an action that did not happen is asked about.
const UNDONE_MAX: u32 = 3;

/// Returns the key of an action that has not happened, if the script was run so often.
fn find_undone_action(turn: &Transition<'_>, task: &Task) -> Option<String> {
    let mut actions = task.ledger.iter().filter_map(|id| turn.state.mutation(*id));
    let undone = actions.find(|mutation| mutation.state == MutationState::NotApplied);
    undone.filter(|_| task.executions >= UNDONE_MAX).map(|mutation| mutation.spec.key.clone())
}

fn undone_fault(script: &str, key: &str) -> Arc<Fault> {
    let quote = |words: &str| quote_words(words, VALUE_CHARS_MAX).unwrap_or_default();
    let times = number_word(UNDONE_MAX);
    let cause = format!(
        "{} has run {times} times, and ended again before it was known whether its action {} had happened. It \
         had not. Let the script wait for it: `--max-wait` of `unstuck mutate` has to be longer than `--settle`.",
        quote(script),
        quote(key)
    );
    let missing = Missing { what: key.to_owned() };
    let message = format!("the action {key:?} did not happen");
    Arc::new(Fault::precondition_missing(UNDONE_ACTION, message, missing).with_cause(cause))
}

/// Returns the place where a job continues whose script ended while an action was open.
fn position_after_script(turn: &Transition<'_>, task: &Task) -> Next {
    let mut actions = task.ledger.iter().filter_map(|id| turn.state.mutation(*id));
    let undone = actions.any(|mutation| mutation.state == MutationState::NotApplied);
    match task.next.step {
        Step::Emit if !undone => Next { phase: Phase::Emitting, step: Step::Emit },
        _ => Next::EXECUTE,
    }
}

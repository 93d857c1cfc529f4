//! Moves a run from one step to the next.

use std::sync::Arc;

use super::schedule::{begin_step, in_merge_order};
use super::{cancel_task, finish_task, skip_task};
use crate::engine::event::Event;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::run::{Next, Phase, Status, Step};
use crate::engine::task::{SkipReason, Task};
use crate::engine::turn::Transition;
use crate::fault::{Code, Fault, Files};

/// Moves the run to `step`. If its build is paused, the run pauses before the step; if the build
/// has ended, the run is cancelled.
pub(in crate::engine) fn move_to_step(turn: &mut Transition<'_>, run: RunId, step: Step) {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let (task, build) = (task.id, task.build);
    let Some(state) = turn.state.build(build).map(|build| build.state) else { return };
    if state.has_ended() {
        turn.cancel_run(run);
        cancel_task(turn, task);
    } else if !state.allows_work() {
        turn.pause_run(run, state.held_run_status(), step, None);
    } else if turn.is_cut_short(run) && !is_session_run(turn, run) {
        stop_and_requeue(turn, run, step);
    } else {
        let step = in_merge_order(turn, task, step);
        begin_step(turn, run, Event::RunStep { run, step });
    }
}

/// Stops the agent of a step that a fault ended while it was still being performed. The run
/// continues with `step` when it has a slot again.
fn stop_and_requeue(turn: &mut Transition<'_>, run: RunId, step: Step) {
    let Some((task, phase)) = turn.state.run(run).map(|run| (run.task, run.phase)) else { return };
    let next = Next { phase, step }.to_resumed();
    turn.pause_run(run, Status::PausedTransient, next.step, None);
    turn.emit_event(Event::TaskReady { task, run: Some(run), next });
}

/// Moves the run on after its step succeeded.
pub(in crate::engine) fn finish_step(turn: &mut Transition<'_>, run: RunId, step: Step) {
    match step {
        // A session has no work here to check, commit or merge.
        Step::Attempt { .. } if is_session_run(turn, run) => {
            reach_phase(turn, run, Phase::Emitting);
            complete_run(turn, run);
        }
        Step::Attempt { .. } => move_to_step(turn, run, Step::Check),
        Step::AwaitMerge | Step::Check => move_to_step(turn, run, Step::Commit),
        Step::Commit => {
            reach_phase(turn, run, Phase::Prepared);
            if !is_checked_later(turn, run) {
                give_back_tries(turn, run);
            }
            reach_phase(turn, run, Phase::Mutating);
            move_to_step(turn, run, Step::Mutate { at: 0 });
        }
        Step::Mutate { at } => move_to_step(turn, run, Step::Mutate { at: at + 1 }),
        Step::Repair { .. } => move_to_step(turn, run, Step::Execute),
        Step::Execute => {
            reach_phase(turn, run, Phase::Mutated);
            move_to_emit(turn, run);
        }
        Step::Emit => complete_run(turn, run),
        Step::TakeBack => skip_denied_task(turn, run),
    }
}

/// Completes the run and its task.
fn complete_run(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    give_back_tries(turn, run);
    reach_phase(turn, run, Phase::Committed);
    turn.emit_event(Event::RunCommitted { run });
    let unchanged = unchanged_explanation(turn, task);
    finish_task(turn, Event::TaskDone { task, unchanged }, task);
}

/// Returns the agent's explanation why no change was needed, if the task changed no file and
/// declared no action.
fn unchanged_explanation(turn: &Transition<'_>, task: TaskId) -> Option<Arc<str>> {
    let task = turn.state.task(task).filter(|task| !task.is_session())?;
    let approach = task.approach.as_ref().filter(|_| task.declared.is_empty())?;
    (approach.files_changed == 0).then(|| Arc::from(approach.summary.as_str()))
}

pub(in crate::engine) fn is_session_run(turn: &Transition<'_>, run: RunId) -> bool {
    let task = turn.state.run(run).and_then(|run| turn.state.task(run.task));
    task.is_some_and(Task::is_session)
}

/// Moves the run to its final step, because all actions are settled.
pub(super) fn move_to_emit(turn: &mut Transition<'_>, run: RunId) {
    reach_phase(turn, run, Phase::Emitting);
    move_to_step(turn, run, Step::Emit);
}

/// Records that the run reached a phase. A run that is checked again keeps its phase, because
/// phases only move forward.
pub(in crate::engine) fn reach_phase(turn: &mut Transition<'_>, run: RunId, phase: Phase) {
    if turn.state.run(run).is_some_and(|run| run.phase < phase) {
        turn.emit_event(Event::RunPhase { run, phase });
    }
}

/// Returns whether the work failed at a check that comes after the commit and has yet to pass it.
fn is_checked_later(turn: &Transition<'_>, run: RunId) -> bool {
    let task = turn.state.run(run).and_then(|run| turn.state.task(run.task));
    let later = |code| matches!(code, Code::ValidationPrePush | Code::ValidationPrePr);
    task.is_some_and(|task| task.charged.iter().any(|charged| later(charged.signature.code)))
}

/// Gives back the tries that the task charged, because the work got past its errors.
fn give_back_tries(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    if !task.charged.is_empty() || task.retrying.is_some() || task.counters.consecutive > 0 {
        let signatures = task.charged.iter().map(|charged| charged.signature).collect();
        turn.emit_event(Event::Recovered { task: task.id, signatures });
    }
}

/// Skips the task after the changes that the operator did not allow were reverted.
fn skip_denied_task(turn: &mut Transition<'_>, run: RunId) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
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

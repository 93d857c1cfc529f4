//! Schedules what follows from a decision: fills free slots, passes the merge lock on, and detects
//! the end of builds.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::step::{finish_step, is_session_run};
use super::{build, gate, mutate};
use crate::engine::apart::Admission;
use crate::engine::build::BuildState;
use crate::engine::event::Event;
use crate::engine::gate::GateState;
use crate::engine::ids::{BuildId, RunId, TaskId};
use crate::engine::run::{Next, Step};
use crate::engine::task::{TaskState, TaskStateKind};
use crate::engine::turn::Transition;
use crate::fault::Work;
use crate::plan::GateKey;

/// Processes every stirred build until no further events follow.
pub(in crate::engine) fn schedule_builds(turn: &mut Transition<'_>) {
    while let Some(id) = turn.state.stirred.pop() {
        gate::hand_over_probes(turn);
        build::resume_when_answered(turn, id);
        pass_merge_lock(turn, id);
        fill_slots(turn, id);
        settle_build_state(turn, id);
    }
}

/// Passes the merge lock on: the next run in the queue is checked on the head that the last one
/// left.
fn pass_merge_lock(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.state.builds.get(&id) else { return };
    if build.state.allows_work()
        && build.merging.is_none()
        && let Some(&run) = build.merge_line.front()
    {
        turn.emit_event(Event::RunStep { run, step: Step::Check });
    }
}

fn fill_slots(turn: &mut Transition<'_>, id: BuildId) {
    while let Some(task) = next_startable_task(turn, id) {
        start_run(turn, task);
    }
}

/// Returns the most urgent task that may start, given the free slots, its gate and the tasks that
/// it must not run beside.
fn next_startable_task(turn: &Transition<'_>, id: BuildId) -> Option<TaskId> {
    let build = turn.state.build(id)?;
    if !build.state.allows_work() || build.count(TaskStateKind::Running) >= build.slots {
        return None;
    }
    let lets = |key: Option<GateKey>| gate_admission(turn, key);
    if let Some(task) = turn.state.tree_taken_by(build) {
        let place = (Reverse(task.spec.priority), task.id);
        let can_start = matches!(task.state, TaskState::Pending { .. }) && task.needs_left == 0;
        let first = lets(task.gate_needed()).first_admitted(&BTreeSet::from([place]));
        return first.filter(|_| can_start).map(|(_, task)| task);
    }
    let free =
        build.ready.iter().filter_map(|(key, places)| lets(*key).first_admitted(places)).min();
    let first = if build.apart.is_idle() {
        free
    } else {
        build.apart.first_startable(free, build.count(TaskStateKind::Running) > 0, lets)
    };
    first.map(|(_, task)| task)
}

/// Returns the tasks that a gate lets start now.
fn gate_admission(turn: &Transition<'_>, key: Option<GateKey>) -> Admission {
    match key.and_then(|key| turn.state.gate(key)).map(|gate| gate.state) {
        None | Some(GateState::Passing) => Admission::Everyone,
        Some(GateState::Waiting { .. }) => Admission::Nothing,
        Some(GateState::Probing { task }) => match turn.state.task(task) {
            Some(task) => Admission::Only((Reverse(task.spec.priority), task.id), task.beside),
            None => Admission::Nothing,
        },
    }
}

/// Starts a task's next run, or resumes its paused one.
fn start_run(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.state.task(id) else { return };
    let next = task.next;
    let run = task.state.run();
    // The first run of a firing retries none: the run before it belongs to another firing.
    let first = task.work() == Work::Job && task.executions == 0;
    let retry_of = task.last_run.filter(|_| !first);
    let next = Next { phase: next.phase, step: in_merge_order(turn, id, next.step) };
    match run {
        Some(run) => begin_step(turn, run, Event::RunResumed { run, step: next.step }),
        None => {
            let run = RunId(turn.state.ids.run);
            begin_step(turn, run, Event::RunStarted { run, task: id, retry_of, next });
        }
    }
}

/// Begins a run's step. Actions are owed by the ledger, not by the run, and a session has no
/// changes to revert here.
pub(super) fn begin_step(turn: &mut Transition<'_>, run: RunId, event: Event) {
    turn.emit_event(event);
    match turn.state.run(run).map(|run| run.step) {
        Some(Step::Mutate { .. }) => mutate::perform_current_action(turn, run),
        Some(Step::TakeBack) if is_session_run(turn, run) => {
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
        .state
        .task(task)
        .filter(|task| task.spec.merges_result())
        .and_then(|task| turn.state.build(task.build))
        .is_some_and(|build| build.merging.is_some());
    if step == Step::Check && taken { Step::AwaitMerge } else { step }
}

fn settle_build_state(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.state.builds.get(&id) else { return };
    if build.standing || build.state.has_ended() {
        return;
    }
    match (build.unfinished_count(), turn.state.can_proceed(build)) {
        (0, _) => {
            build::withdraw_pause_question(turn, id);
            turn.emit_event(Event::BuildCompleted { build: id });
        }
        (_, false) if build.state == BuildState::Running => {
            turn.emit_event(Event::BuildWaiting { build: id });
        }
        (_, true) if build.state == BuildState::Waiting => {
            turn.emit_event(Event::BuildResumed { build: id });
        }
        _ => {}
    }
}

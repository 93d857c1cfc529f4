//! Schedules what follows from a decision: resumes held builds, fills free slots, passes the merge
//! lock on, and detects the end of builds.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::gate;
use super::step::{begin_step, in_merge_order};
use crate::engine::apart::Admission;
use crate::engine::ask::withdraw_pause_question;
use crate::engine::build::BuildState;
use crate::engine::end::question_limit;
use crate::engine::event::{Event, PauseCause};
use crate::engine::gate::GateState;
use crate::engine::ids::{BuildId, RunId, TaskId};
use crate::engine::run::{Next, Step};
use crate::engine::task::{Task, TaskState, TaskStateKind};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::Work;
use crate::plan::GateKey;

/// Processes every stirred build until no further events follow.
pub(in crate::engine) fn schedule_builds(turn: &mut Transition<'_>) {
    while let Some(id) = turn.state.stirred.pop() {
        gate::hand_over_probes(turn);
        resume_when_answered(turn, id);
        pass_merge_lock(turn, id);
        fill_slots(turn, id);
        settle_build_state(turn, id);
    }
}

/// Resumes a build that was paused for its questions, once answers have brought their number below
/// the limit.
fn resume_when_answered(turn: &mut Transition<'_>, id: BuildId) {
    if turn.is_paused_for(id, PauseCause::Questions)
        && turn.known_build(id).is_some_and(|b| b.open_questions < question_limit(turn, id))
    {
        let why = Why::from_rule(Rule::QuestionsAnswered);
        resume_build(turn, id, Event::BuildResumed { build: id }, why);
    }
}

/// Resumes a held build by `event`.
pub(in crate::engine) fn resume_build(
    turn: &mut Transition<'_>,
    id: BuildId,
    event: Event,
    why: Why,
) {
    withdraw_pause_question(turn, id);
    turn.emit_with_reason(event, why);
    let Some(build) = turn.known_build(id) else { return };
    for run in build.held.clone() {
        resume_run(turn, run);
    }
}

fn resume_run(turn: &mut Transition<'_>, id: RunId) {
    // The run may have ended with a run that was resumed before it.
    let Some(run) = turn.state.run(id) else { return };
    let task = run.task;
    let step = run.step;
    let Some(gate) = turn.known_task(task).map(|task| task.spec.gate) else { return };
    let next = Next { phase: run.phase, step };
    if step.needs_gate() && turn.state.gate(gate).is_some_and(|gate| !gate.lets_pass(task)) {
        turn.emit_with_reason(
            Event::TaskBackingOff { task, until: None, gate: Some(gate), run: Some(id), next },
            Why::from_rule(Rule::SharedGate),
        );
        return;
    }
    let step = in_merge_order(turn, task, step);
    begin_step(turn, id, Event::RunResumed { run: id, step });
}

/// Passes the merge lock on: the next run in the queue is checked on the head that the last one
/// left.
fn pass_merge_lock(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.known_build(id) else { return };
    if build.state.allows_work()
        && build.merging.is_none()
        && let Some(&run) = build.merge_line.front()
    {
        turn.emit_event(Event::RunStep { run, step: Step::Check });
    }
}

fn fill_slots(turn: &mut Transition<'_>, id: BuildId) {
    while let Some(task) = next_startable_task(turn, id).map(|task| task.id) {
        start_run(turn, task);
    }
}

/// Returns the most urgent task that may start, given the free slots, its gate and the tasks that
/// it must not run beside.
fn next_startable_task<'a>(turn: &'a Transition<'_>, id: BuildId) -> Option<&'a Task> {
    let build = turn.known_build(id)?;
    if !build.state.allows_work() || build.count(TaskStateKind::Running) >= build.slots {
        return None;
    }
    let lets = |key: Option<GateKey>| gate_admission(turn, key);
    if let Some(task) = turn.state.tree_taken_by(build) {
        let place = (Reverse(task.spec.priority), task.id);
        let can_start = matches!(task.state, TaskState::Pending { .. }) && task.needs_left == 0;
        let first = lets(task.gate_needed()).first_admitted(&BTreeSet::from([place]));
        return first.filter(|_| can_start).map(|_| task);
    }
    let free =
        build.ready.iter().filter_map(|(key, places)| lets(*key).first_admitted(places)).min();
    let first = if build.apart.is_idle() {
        free
    } else {
        build.apart.first_startable(free, build.count(TaskStateKind::Running) > 0, lets)
    };
    first.and_then(|(_, task)| turn.known_task(task))
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
    let Some(task) = turn.known_task(id) else { return };
    let next = task.next;
    // A paused run that is gone can never resume, and its task would stay in the queue for ever.
    let run = task.state.run().filter(|run| turn.known_run(*run).is_some());
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

fn settle_build_state(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.known_build(id) else { return };
    if build.standing || build.state.has_ended() {
        return;
    }
    match (build.unfinished_count(), turn.state.can_proceed(build)) {
        (0, _) => {
            withdraw_pause_question(turn, id);
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

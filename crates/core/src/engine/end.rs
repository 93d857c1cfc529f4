//! Ends tasks and builds, with the consequences for their questions and dependants, and holds
//! builds. What is ended or held here is moved on by `flow`.

use std::sync::Arc;

use super::ask::{
    ask_about_build, withdraw_if_idle, withdraw_job_question, withdraw_pause_question,
};
use super::event::{Event, PauseCause};
use super::ids::{BuildId, RunId, TaskId};
use super::run::Status;
use super::task::{SkipReason, TaskState};
use super::transition::Transition;
use super::why::{Rule, Why};
use crate::fault::Fault;

/// Ends a task by `event`; a job that was fired meanwhile starts over.
pub(super) fn finish_task(turn: &mut Transition<'_>, event: Event, task: TaskId) {
    finish_task_because(turn, event, task, None);
}

/// Ends a task like `finish_task`, with an optional reason.
pub(super) fn finish_task_because(
    turn: &mut Transition<'_>,
    event: Event,
    task: TaskId,
    why: Option<Why>,
) {
    let question = match turn.known_task(task).map(|task| &task.state) {
        Some(TaskState::Parked { question, .. }) => Some(*question),
        _ => None,
    };
    let succeeded = matches!(event, Event::TaskDone { .. });
    match why {
        Some(why) => turn.emit_with_reason(event, why),
        None => turn.emit_event(event),
    }
    if succeeded {
        withdraw_job_question(turn, task);
    }
    if let Some(question) = question {
        withdraw_if_idle(turn, question);
    }
    if turn.known_task(task).is_some_and(|task| task.fire_later) {
        turn.emit_event(Event::JobFired { task });
    }
}

/// Skips a task and all tasks that need it.
pub(super) fn skip_task(turn: &mut Transition<'_>, task: TaskId, left: SkipReason) {
    finish_task(turn, Event::TaskSkipped { task, left }, task);
    skip_dependants(turn, task);
}

/// Skips all tasks that need `task`, directly or indirectly.
pub(super) fn skip_dependants(turn: &mut Transition<'_>, task: TaskId) {
    let mut gone = vec![task];
    while let Some(needed) = gone.pop() {
        let Some(dependants) = turn.known_task(needed).map(|task| task.dependants.clone()) else {
            continue;
        };
        for dependant in dependants {
            if turn.known_task(dependant).is_some_and(|task| !task.state.has_ended()) {
                let left = SkipReason::Needs { task: needed };
                turn.emit_with_reason(
                    Event::TaskSkipped { task: dependant, left },
                    Why::from_rule(Rule::NeedsWhatWasLeftOut),
                );
                gone.push(dependant);
            }
        }
    }
}

/// Cancels a task whose run is gone or never existed.
pub(super) fn cancel_task(turn: &mut Transition<'_>, task: TaskId) {
    finish_task(turn, Event::TaskCancelled { task }, task);
}

/// Ends a build by `event`. Steps that cannot be interrupted are completed first.
pub(super) fn end_build(turn: &mut Transition<'_>, id: BuildId, event: Event, why: Why) {
    withdraw_pause_question(turn, id);
    turn.emit_with_reason(event, why);
    end_tasks(turn, id);
}

/// Ends every task of a build that can be ended now.
pub(super) fn end_tasks(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.known_build(id) else { return };
    for task in build.tasks.clone() {
        end_task(turn, task);
    }
}

fn end_task(turn: &mut Transition<'_>, id: TaskId) {
    let Some(task) = turn.known_task(id) else { return };
    if task.state.has_ended() || is_at_uninterruptible(turn, id) {
        return;
    }
    if let Some(run) = current_run(turn, id) {
        turn.cancel_run(run);
    }
    cancel_task(turn, id);
}

/// Returns the task's run, if it has not ended.
pub(super) fn current_run(turn: &Transition<'_>, id: TaskId) -> Option<RunId> {
    let run = turn.known_task(id)?.state.run()?;
    turn.state.run(run).map(|run| run.id)
}

/// Returns whether the task cannot be ended now: its step cannot be interrupted, or the outcome of
/// an action has to be known even when its task is no longer wanted.
pub(super) fn is_at_uninterruptible(turn: &Transition<'_>, id: TaskId) -> bool {
    let run = current_run(turn, id).and_then(|run| turn.state.run(run));
    let busy = run.is_some_and(|run| run.owes.is_some() && !run.step.can_be_interrupted());
    busy || turn.state.has_open_action(id)
}

/// Holds a build by `event`. Agents are stopped; all other work ends its step first.
pub(super) fn hold_build(turn: &mut Transition<'_>, id: BuildId, event: Event, why: Why) {
    let code = why.code;
    turn.emit_with_reason(event, why);
    let Some(build) = turn.known_build(id) else { return };
    let status = build.state.held_run_status();
    for run in active_runs(turn, id) {
        let Some(run) = turn.known_run(run) else { continue };
        if run.status == Status::Active && run.step.can_be_interrupted() {
            let (run, step) = (run.id, run.position().to_resumed().step);
            turn.pause_run(run, status, step, code);
        }
    }
}

fn active_runs(turn: &Transition<'_>, id: BuildId) -> Vec<RunId> {
    let Some(build) = turn.known_build(id) else { return Vec::new() };
    build
        .tasks
        .iter()
        .filter_map(|task| match turn.known_task(*task)?.state {
            TaskState::Running { run } => Some(run),
            _ => None,
        })
        .collect()
}

/// Pauses a build that has reached its limit of open questions (five by default), with one event
/// and one question.
pub(super) fn pause_for_questions(turn: &mut Transition<'_>, id: BuildId) {
    let Some(build) = turn.known_build(id) else { return };
    if build.open_questions < question_limit(turn, id) {
        return;
    }
    pause_build(turn, id, PauseCause::Questions, None, Why::from_rule(Rule::TooManyQuestions));
}

/// Returns the number of open questions at which a build pauses. Jobs are independent of each
/// other, so a question about one of them never holds up the others.
pub(super) fn question_limit(turn: &Transition<'_>, id: BuildId) -> u32 {
    match turn.known_build(id) {
        Some(build) if build.standing => u32::MAX,
        build => {
            let allowed = build.map_or(0, |build| build.questions_allowed);
            turn.policy.retry.pause_after_questions.saturating_add(allowed)
        }
    }
}

/// Pauses a build whose budget is spent, until the operator decides.
pub(super) fn pause_for_budget(turn: &mut Transition<'_>, id: BuildId, fault: &Arc<Fault>) {
    let why = Why::with_code(Rule::BudgetSpent, fault.code());
    pause_build(turn, id, PauseCause::Budget, Some(fault), why);
}

/// Pauses a build that is not on hold yet and asks the operator about it.
fn pause_build(
    turn: &mut Transition<'_>,
    id: BuildId,
    cause: PauseCause,
    fault: Option<&Arc<Fault>>,
    why: Why,
) {
    let Some(build) = turn.known_build(id).filter(|build| build.state.allows_work()) else {
        return;
    };
    let open_questions = build.open_questions;
    hold_build(turn, id, Event::BuildPaused { build: id, cause, open_questions }, why.clone());
    ask_about_build(turn, id, fault, why);
}

//! Ends tasks and handles the consequences for their questions and dependants.

use crate::engine::event::Event;
use crate::engine::ids::{QuestionId, TaskId};
use crate::engine::question::Subject;
use crate::engine::react::withdraw_job_question;
use crate::engine::task::{SkipReason, TaskState};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

/// Ends a task by `event`; a job that was fired meanwhile starts over.
pub(in crate::engine) fn finish_task(turn: &mut Transition<'_>, event: Event, task: TaskId) {
    finish_task_because(turn, event, task, None);
}

/// Ends a task like `finish`, with an optional reason.
pub(in crate::engine) fn finish_task_because(
    turn: &mut Transition<'_>,
    event: Event,
    task: TaskId,
    why: Option<Why>,
) {
    let question = match turn.state.task(task).map(|task| &task.state) {
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
    if turn.state.task(task).is_some_and(|task| task.fire_later) {
        turn.emit_event(Event::JobFired { task });
    }
}

/// Skips a task and all tasks that need it.
pub(in crate::engine) fn skip_task(turn: &mut Transition<'_>, task: TaskId, left: SkipReason) {
    finish_task(turn, Event::TaskSkipped { task, left }, task);
    skip_dependants(turn, task);
}

/// Skips all tasks that need `task`, directly or indirectly.
pub(in crate::engine) fn skip_dependants(turn: &mut Transition<'_>, task: TaskId) {
    let mut gone = vec![task];
    while let Some(needed) = gone.pop() {
        let Some(dependants) = turn.state.task(needed).map(|task| task.dependants.clone()) else {
            continue;
        };
        for dependant in dependants {
            if turn.state.task(dependant).is_some_and(|task| !task.state.has_ended()) {
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
pub(in crate::engine) fn cancel_task(turn: &mut Transition<'_>, task: TaskId) {
    finish_task(turn, Event::TaskCancelled { task }, task);
}

/// Withdraws a question that parks no task any more, unless it is about a build or a job.
pub(in crate::engine) fn withdraw_if_idle(turn: &mut Transition<'_>, question: QuestionId) {
    let idle = turn.state.question(question).is_some_and(|question| {
        question.tasks.is_empty()
            && !matches!(question.subject, Subject::Build(_) | Subject::Job(_))
    });
    if idle {
        turn.emit_event(Event::QuestionWithdrawn { question });
    }
}

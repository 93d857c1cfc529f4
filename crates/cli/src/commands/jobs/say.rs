//! Describes the state of a job in the terms that people use.

use unstuck_core::engine::TaskState;
use unstuck_core::tell;
use unstuck_core::time::Time;
use unstuck_server::Stand;
use unstuck_store::tables::{QuestionRow, TaskRow};

use super::defined::{job_schedule, job_zone};
use crate::render::stand::{self, TaskPerformer};
use crate::render::{when, words};
use crate::settings::JobSettings;

/// The state of a job: in a word, in a sentence, and its next time.
#[derive(Debug)]
pub(crate) struct JobStateText {
    pub(crate) stand: Stand,
    pub(crate) detail: String,
    pub(crate) next: Option<Time>,
}

/// The processes that could run the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobProcesses {
    /// The process at work on it.
    pub(crate) performer: TaskPerformer,
    /// Set if a watcher runs the scheduled jobs.
    pub(crate) watched: bool,
}

/// Describes the state of a job. `job` is its definition in the settings, `row` its stored state,
/// `questions` the open questions.
pub(crate) fn render_job_state(
    job: Option<&JobSettings>,
    row: Option<&TaskRow>,
    present: JobProcesses,
    questions: &[QuestionRow],
    now: Time,
) -> JobStateText {
    let next = job.and_then(|job| next_time(job, row, now)).filter(|_| present.watched);
    let when = render_schedule(job, next, now);
    let waits_in_vain = !present.watched && job.is_some_and(|job| job.schedule.is_some());
    let Some(row) = row else {
        let (stand, detail) = if waits_in_vain {
            (Stand::Stopped, render_unwatched_schedule(&when, job))
        } else {
            (Stand::Idle, when)
        };
        return JobStateText { stand, detail, next };
    };
    let state = &row.moved.state;
    let (stand, detail) = match state {
        TaskState::Parked { .. } => {
            let general = || stand::render_task_state(state, TaskPerformer::AtWork, now);
            (Stand::NeedsAttention, render_needed_action(row, questions).unwrap_or_else(general))
        }
        TaskState::Failed { .. } => {
            (Stand::NeedsAttention, stand::render_task_state(state, TaskPerformer::AtWork, now))
        }
        TaskState::Running { .. }
        | TaskState::Reconciling { .. }
        | TaskState::BackingOff { .. }
        | TaskState::Pending { .. } => {
            let stand = match present.performer {
                TaskPerformer::AtWork => Stand::Running,
                TaskPerformer::Paused | TaskPerformer::NextStart | TaskPerformer::NextExec => {
                    Stand::Stopped
                }
            };
            (stand, stand::render_task_state(state, present.performer, now))
        }
        _ if row.moved.held => (Stand::Stopped, "paused; runs only when asked for".to_owned()),
        TaskState::Done | TaskState::Skipped { .. } | TaskState::Cancelled => {
            if waits_in_vain {
                (Stand::Stopped, render_unwatched_schedule(&when, job))
            } else {
                (Stand::Idle, when)
            }
        }
    };
    JobStateText { stand, detail, next: next.filter(|_| !row.moved.held) }
}

/// Returns the action that a job waits for a person to take; `None` if it waits for no person.
pub(crate) fn render_needed_action(row: &TaskRow, questions: &[QuestionRow]) -> Option<String> {
    let TaskState::Parked { question: id, .. } = row.moved.state else { return None };
    let question = questions.iter().find(|question| question.id == id)?;
    let wanted =
        tell::wanted_action(question.kind, question.why.rule, row.moved.failure.as_deref());
    Some(format!("waiting for you to {}: question {id}", words::plain_line(&wanted)))
}

/// Returns the next time of a job, with or without a watcher.
fn next_time(job: &JobSettings, row: Option<&TaskRow>, now: Time) -> Option<Time> {
    let last = row.map_or(now, |row| row.moved.fired_at.unwrap_or(row.moved.changed_at));
    let next = job_schedule(job)?.next_after(last.min(now), &job_zone(job))?;
    Some(next.max(now))
}

/// Formats the schedule, such as `runs every 5 minutes, next 07:12 (in 4 min)`.
fn render_schedule(job: Option<&JobSettings>, next: Option<Time>, now: Time) -> String {
    match (job.and_then(job_schedule), next) {
        (Some(schedule), Some(next)) => {
            format!("runs {schedule}, next {}", when::render_until(next, now))
        }
        (Some(schedule), None) => format!("runs {schedule}"),
        (None, _) => "runs when asked for".to_owned(),
    }
}

/// Formats the schedule of a job without a watcher.
fn render_unwatched_schedule(when: &str, job: Option<&JobSettings>) -> String {
    match job.and_then(job_schedule) {
        Some(_) => format!("{when}, and nothing runs it at its times: `unstuck jobs --watch`"),
        None => when.to_owned(),
    }
}

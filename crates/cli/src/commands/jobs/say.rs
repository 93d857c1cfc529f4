//! Describes the state of a job in the terms that people use.

use unstuck_core::engine::TaskState;
use unstuck_core::tell;
use unstuck_core::time::Time;
use unstuck_server::Stand;
use unstuck_store::tables::{QuestionRow, TaskRow};

use super::defined::{schedule, zone};
use crate::render::stand::{self, Performer};
use crate::render::{when, words};
use crate::settings::Job;

/// The state of a job: in a word, in a sentence, and its next time.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) stand: Stand,
    pub(crate) detail: String,
    pub(crate) next: Option<Time>,
}

/// The processes that could run the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    /// The process at work on it.
    pub(crate) performer: Performer,
    /// Set if a watcher runs the scheduled jobs.
    pub(crate) watched: bool,
}

/// Describes the state of a job. `job` is its definition in the settings, `row` its stored state,
/// `questions` the open questions.
pub(crate) fn standing(
    job: Option<&Job>,
    row: Option<&TaskRow>,
    present: Present,
    questions: &[QuestionRow],
    now: Time,
) -> Standing {
    let next = job.and_then(|job| next(job, row, now)).filter(|_| present.watched);
    let when = when_it_runs(job, next, now);
    let waits_in_vain = !present.watched && job.is_some_and(|job| job.schedule.is_some());
    let Some(row) = row else {
        let (stand, detail) =
            if waits_in_vain { (Stand::Stopped, nobody(&when, job)) } else { (Stand::Idle, when) };
        return Standing { stand, detail, next };
    };
    let state = &row.moved.state;
    let (stand, detail) = match state {
        TaskState::Parked { .. } => {
            let general = || stand::task(state, Performer::AtWork, now);
            (Stand::NeedsAttention, needs(row, questions).unwrap_or_else(general))
        }
        TaskState::Failed { .. } => {
            (Stand::NeedsAttention, stand::task(state, Performer::AtWork, now))
        }
        TaskState::Running { .. }
        | TaskState::Reconciling { .. }
        | TaskState::BackingOff { .. }
        | TaskState::Pending { .. } => {
            let stand = match present.performer {
                Performer::AtWork => Stand::Running,
                Performer::Paused | Performer::NextStart | Performer::NextExec => Stand::Stopped,
            };
            (stand, stand::task(state, present.performer, now))
        }
        _ if row.moved.held => (Stand::Stopped, "paused; runs only when asked for".to_owned()),
        TaskState::Done | TaskState::Skipped { .. } | TaskState::Cancelled => {
            if waits_in_vain {
                (Stand::Stopped, nobody(&when, job))
            } else {
                (Stand::Idle, when)
            }
        }
    };
    Standing { stand, detail, next: next.filter(|_| !row.moved.held) }
}

/// Returns the action that a job waits for a person to take; `None` if it waits for no person.
pub(crate) fn needs(row: &TaskRow, questions: &[QuestionRow]) -> Option<String> {
    let TaskState::Parked { question: id, .. } = row.moved.state else { return None };
    let question = questions.iter().find(|question| question.id == id)?;
    let wanted = tell::wanted(question.kind, question.why.rule, row.moved.failure.as_deref());
    Some(format!("waiting for you to {}: question {id}", words::plain_line(&wanted)))
}

/// Returns the next time of a job, with or without a watcher.
fn next(job: &Job, row: Option<&TaskRow>, now: Time) -> Option<Time> {
    let last = row.map_or(now, |row| row.moved.fired_at.unwrap_or(row.moved.changed_at));
    let next = schedule(job)?.next(last.min(now), &zone(job))?;
    Some(next.max(now))
}

/// Formats the schedule, such as `runs every 5 minutes, next 07:12 (in 4 min)`.
fn when_it_runs(job: Option<&Job>, next: Option<Time>, now: Time) -> String {
    match (job.and_then(schedule), next) {
        (Some(schedule), Some(next)) => {
            format!("runs {schedule}, next {}", when::until(next, now))
        }
        (Some(schedule), None) => format!("runs {schedule}"),
        (None, _) => "runs when asked for".to_owned(),
    }
}

/// Formats the schedule of a job without a watcher.
fn nobody(when: &str, job: Option<&Job>) -> String {
    match job.and_then(schedule) {
        Some(_) => format!("{when}, and nothing runs it at its times: `unstuck jobs --watch`"),
        None => when.to_owned(),
    }
}

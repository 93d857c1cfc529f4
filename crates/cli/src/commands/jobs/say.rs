//! Where a job stands, as people think of it.

use unstuck_core::engine::TaskState;
use unstuck_core::tell;
use unstuck_core::time::Time;
use unstuck_server::Stand;
use unstuck_store::tables::{QuestionRow, TaskRow};

use super::defined::{schedule, zone};
use crate::render::stand::{self, Performer};
use crate::render::{when, words};
use crate::settings::Job;

/// A job as it stands: in a word, in a sentence, and when it is due.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) stand: Stand,
    pub(crate) detail: String,
    pub(crate) next: Option<Time>,
}

/// Who is there to run it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    /// Who is at work on it.
    pub(crate) performer: Performer,
    /// Somebody runs the jobs at their times.
    pub(crate) watched: bool,
}

/// Where a job stands. `job` is what the settings say of it, `row` what was ever done with it,
/// `questions` those that are open.
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

/// What a job waits for somebody to do; none where it waits for nobody.
pub(crate) fn needs(row: &TaskRow, questions: &[QuestionRow]) -> Option<String> {
    let TaskState::Parked { question: id, .. } = row.moved.state else { return None };
    let question = questions.iter().find(|question| question.id == id)?;
    let wanted = tell::wanted(question.kind, question.why.rule, row.moved.failure.as_deref());
    Some(format!("waiting for you to {}: question {id}", words::plain_line(&wanted)))
}

/// When it is due, whether or not anybody is there.
fn next(job: &Job, row: Option<&TaskRow>, now: Time) -> Option<Time> {
    let last = row.map_or(now, |row| row.moved.fired_at.unwrap_or(row.moved.changed_at));
    let next = schedule(job)?.next(last.min(now), &zone(job))?;
    Some(next.max(now))
}

/// `runs every 5 minutes, next 07:12 (in 4 min)`.
fn when_it_runs(job: Option<&Job>, next: Option<Time>, now: Time) -> String {
    match (job.and_then(schedule), next) {
        (Some(schedule), Some(next)) => {
            format!("runs {schedule}, next {}", when::until(next, now))
        }
        (Some(schedule), None) => format!("runs {schedule}"),
        (None, _) => "runs when asked for".to_owned(),
    }
}

/// Its time comes, and nobody is there.
fn nobody(when: &str, job: Option<&Job>) -> String {
    match job.and_then(schedule) {
        Some(_) => format!("{when}, and nothing runs it at its times: `unstuck jobs --watch`"),
        None => when.to_owned(),
    }
}

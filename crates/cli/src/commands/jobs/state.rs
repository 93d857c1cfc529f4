//! Describes the state of jobs in the terms that people use, for every user interface. `unstuck jobs list` lists
//! them with their next times.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use unstuck_core::engine::TaskState;
use unstuck_core::tell;
use unstuck_core::time::Time;
use unstuck_runner::TaskLocks;
use unstuck_server::{JobOverview, Stand};
use unstuck_store::tables::{QuestionRow, QuestionStatus, TaskRow};
use unstuck_store::{Holder, Store};

use super::defined::{ConfiguredJobs, find_job_rows, job_schedule, job_zone};
use super::watch;
use crate::error::{CliError, JobsError};
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::stand::{self, TaskPerformer};
use crate::render::style::{CODE, DIM, ERROR, HINT};
use crate::render::{Terminal, when, words};
use crate::settings::JobSettings;

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

#[derive(Serialize)]
struct JobList {
    /// The process that runs the scheduled jobs, if there is one.
    watcher: Option<Holder>,
    jobs: Vec<JobOverview>,
}

pub(super) fn write_list(
    project: &LocalProject,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let store = project.find_store()?;
    let jobs = project::create_runtime()?.block_on(list_job_states(project, store.as_deref()))?;
    if jobs.is_empty() && !json {
        return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
    }
    let watcher = watch::find_watcher(project);
    let now = project::now();
    let listed = JobList { watcher, jobs };
    terminal.write_result(json, &listed, |out| write_page(out, &listed, now))?;
    Ok(Exit::Done)
}

fn write_page(out: &mut impl Write, listed: &JobList, now: Time) -> io::Result<()> {
    let who = match &listed.watcher {
        Some(watcher) => {
            format!("{watcher} runs them, since {}", when::render_ago(watcher.since, now))
        }
        None => "nothing runs them on schedule; `unstuck jobs --watch` does".to_owned(),
    };
    writeln!(out, "{DIM}{who}{DIM:#}")?;
    let names = listed.jobs.iter().map(|job| job.name.chars().count().min(NAME_COLUMNS_MAX));
    let widest = names.max().unwrap_or_default();
    for JobOverview { name, standing, detail, .. } in &listed.jobs {
        let color = match standing {
            Stand::Running => CODE,
            Stand::Idle => HINT,
            Stand::NeedsAttention => ERROR,
            Stand::Stopped => DIM,
        };
        let name = words::cut_to_columns(name, NAME_COLUMNS_MAX);
        let word = standing.as_str();
        writeln!(out, "  {name:widest$}  {color}{word:15}{color:#}  {detail}")?;
    }
    Ok(())
}

/// Returns all jobs of the settings, in their order. Without a store nothing was ever run.
pub(crate) async fn list_job_states(
    project: &LocalProject,
    store: Option<&dyn Store>,
) -> Result<Vec<JobOverview>, CliError> {
    let defined = ConfiguredJobs::from_project(project)?;
    let held = project::current_holder(project).await.is_some();
    let locks = TaskLocks::new(project.runs_folder());
    let watched = watch::find_watcher(project).is_some();
    // A job may be run by hand beside the watcher.
    let present = |row: Option<&TaskRow>| {
        let at_work = watched || row.is_some_and(|row| locks.is_task_locked(row.id));
        let performer =
            if held && at_work { TaskPerformer::AtWork } else { TaskPerformer::NextStart };
        JobProcesses { performer, watched }
    };
    let (mut rows, questions) = match store {
        Some(store) => {
            let rows = find_job_rows(store, project.name()).await?;
            (rows, store.load_questions(project.name(), Some(QuestionStatus::Pending)).await?)
        }
        None => (BTreeMap::new(), Vec::new()),
    };
    let now = project::now();
    let told = defined.all().iter().map(|job| {
        let row = rows.remove(job.name.as_str());
        let JobStateText { stand, detail, next } =
            render_job_state(Some(job), row.as_ref(), present(row.as_ref()), &questions, now);
        JobOverview {
            name: job.name.as_str().to_owned(),
            title: row
                .as_ref()
                .map_or_else(|| job.name.as_str().to_owned(), |row| row.spec.title.clone()),
            standing: stand,
            detail,
            schedule: job_schedule(job).map(|schedule| schedule.as_written().to_owned()),
            next,
            row,
        }
    });
    Ok(told.collect())
}

/// The state of a job: in a word, in a sentence, and its next time.
#[derive(Debug)]
pub(crate) struct JobStateText {
    pub(crate) stand: Stand,
    pub(crate) detail: String,
    pub(crate) next: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct JobProcesses {
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
        TaskState::Parked { .. } => match render_needed_action(row, questions) {
            Some(needed) => (Stand::NeedsAttention, needed),
            // The answer is recorded; the process that performs the job next takes it up.
            None => (Stand::Stopped, stand::ANSWERED.to_owned()),
        },
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
        _ if row.moved.held => (Stand::Stopped, "paused; runs only on request".to_owned()),
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
        (None, _) => "runs on request".to_owned(),
    }
}

fn render_unwatched_schedule(when: &str, job: Option<&JobSettings>) -> String {
    match job.and_then(job_schedule) {
        Some(_) => format!("{when}, but nothing runs it on schedule: `unstuck jobs --watch`"),
        None => when.to_owned(),
    }
}

//! `unstuck jobs list`: lists the jobs with their next times.

use std::io::Write as _;

use serde::Serialize;
use unstuck_core::time::Time;
use unstuck_server::{JobOverview, Stand};
use unstuck_store::Holder;

use super::told::list_job_states;
use super::watcher;
use crate::error::{CliError, JobsError};
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{self, Terminal, style, when, words};

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

/// The list in its JSON form.
#[derive(Serialize)]
struct JobList {
    /// The process that runs the scheduled jobs, if there is one.
    watcher: Option<Holder>,
    jobs: Vec<JobOverview>,
}

pub(super) fn run(
    project: &LocalProject,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let store = project.open_store().ok();
    let jobs = project::create_runtime()?.block_on(list_job_states(project, store.as_deref()))?;
    if jobs.is_empty() && !json {
        return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
    }
    let watcher = watcher::find_watcher(project);
    let now = project::now();
    let listed = JobList { watcher, jobs };
    let mut out = terminal.styled();
    if json {
        render::write_json(&mut out, &listed)?;
    } else {
        write_page(&mut out, &listed, now)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn write_page(out: &mut impl std::io::Write, listed: &JobList, now: Time) -> Result<(), CliError> {
    let dim = style::DIM;
    let who = match &listed.watcher {
        Some(watcher) => {
            format!("{watcher} runs them, since {}", when::render_ago(watcher.since, now))
        }
        None => "nothing runs them at their times; `unstuck jobs --watch` does".to_owned(),
    };
    writeln!(out, "{dim}{who}{dim:#}")?;
    let names = listed.jobs.iter().map(|job| job.name.chars().count().min(NAME_COLUMNS_MAX));
    let widest = names.max().unwrap_or_default();
    for JobOverview { name, standing, detail, .. } in &listed.jobs {
        let color = match standing {
            Stand::Running => style::CODE,
            Stand::Idle => style::HINT,
            Stand::NeedsAttention => style::ERROR,
            Stand::Stopped => style::DIM,
        };
        let name = words::cut_to_columns(name, NAME_COLUMNS_MAX);
        let word = standing.as_str();
        writeln!(out, "  {name:widest$}  {color}{word:15}{color:#}  {detail}")?;
    }
    Ok(())
}

//! `unstuck jobs list`: lists the jobs with their next times.

use std::io::Write as _;

use serde::Serialize;
use unstuck_core::time::Time;
use unstuck_server::{JobStanding, Stand};
use unstuck_store::Holder;

use super::told::told;
use super::watcher;
use crate::error::{Error, JobsError};
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style, when, words};

/// Maximum width of a name in columns; a longer one is cut.
const NAME_COLUMNS_MAX: usize = 36;

/// The list in its JSON form.
#[derive(Serialize)]
struct Listed {
    /// The process that runs the scheduled jobs, if there is one.
    watcher: Option<Holder>,
    jobs: Vec<JobStanding>,
}

pub(super) fn run(project: &Project, json: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let store = project.store().ok();
    let jobs = project::runtime()?.block_on(told(project, store.as_deref()))?;
    if jobs.is_empty() && !json {
        return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
    }
    let watcher = watcher::current(project);
    let now = project::now();
    let listed = Listed { watcher, jobs };
    let mut out = terminal.styled();
    if json {
        render::json(&mut out, &listed)?;
    } else {
        page(&mut out, &listed, now)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn page(out: &mut impl std::io::Write, listed: &Listed, now: Time) -> Result<(), Error> {
    let dim = style::DIM;
    let who = match &listed.watcher {
        Some(watcher) => format!("{watcher} runs them, since {}", when::ago(watcher.since, now)),
        None => "nothing runs them at their times; `unstuck jobs --watch` does".to_owned(),
    };
    writeln!(out, "{dim}{who}{dim:#}")?;
    let names = listed.jobs.iter().map(|job| job.name.chars().count().min(NAME_COLUMNS_MAX));
    let widest = names.max().unwrap_or_default();
    for JobStanding { name, standing, detail, .. } in &listed.jobs {
        let color = match standing {
            Stand::Running => style::CODE,
            Stand::Idle => style::HINT,
            Stand::NeedsAttention => style::ERROR,
            Stand::Stopped => style::DIM,
        };
        let name = words::cut(name, NAME_COLUMNS_MAX);
        let word = standing.as_str();
        writeln!(out, "  {name:widest$}  {color}{word:15}{color:#}  {detail}")?;
    }
    Ok(())
}

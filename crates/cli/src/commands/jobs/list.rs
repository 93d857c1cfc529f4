//! `unstuck jobs list`: what there is, and when each runs next.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;
use unstuck_core::time::Time;
use unstuck_store::Holder;
use unstuck_store::tables::{QuestionStatus, TaskRow};

use super::defined::{Defined, find_rows, schedule};
use super::say::{Present, Stand, Standing, standing};
use super::watcher;
use crate::error::{Error, JobsError};
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, style, when, words};
use crate::settings::Job;

/// The widest a name may be before it is cut.
const NAME_COLUMNS_MAX: usize = 36;

/// All jobs, as `--json` writes them.
#[derive(Serialize)]
struct Listed<'a> {
    /// Who runs them at their times; nobody without one.
    watcher: Option<Holder>,
    jobs: Vec<Line<'a>>,
}

/// One job.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    standing: Stand,
    detail: String,
    schedule: Option<&'a str>,
    next: Option<Time>,
    /// What was ever done with it.
    row: Option<TaskRow>,
}

pub(super) fn run(project: &Project, json: bool, terminal: &Terminal) -> Result<Exit, Error> {
    let defined = Defined::read(project)?;
    if defined.all().is_empty() && !json {
        return Err(JobsError::NoJobs { root: project.root().to_owned() }.into());
    }
    let (mut rows, questions, held) = project::runtime()?.block_on(async {
        let held = project::current_holder(project).await.is_some();
        // Without a store nothing was ever run.
        let Ok(store) = project.store() else { return Ok((BTreeMap::new(), Vec::new(), held)) };
        let rows = find_rows(store.as_ref(), project.name()).await?;
        let open = store.questions(project.name(), Some(QuestionStatus::Pending)).await?;
        Ok::<_, Error>((rows, open, held))
    })?;
    let (watcher, now) = (watcher::current(project), project::now());
    let present = Present { held, watched: watcher.is_some() };
    let line = |job: &'_ Job, row: Option<TaskRow>| {
        let Standing { stand, detail, next } =
            standing(Some(job), row.as_ref(), present, &questions, now);
        (stand, detail, next, row)
    };
    let mut jobs = Vec::new();
    for job in defined.all() {
        let name = job.name.as_str();
        let (standing, detail, next, row) = line(job, rows.remove(name));
        let schedule = schedule(job).map(unstuck_runner::jobs::Schedule::written);
        jobs.push(Line { name, standing, detail, schedule, next, row });
    }
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

fn page(out: &mut impl std::io::Write, listed: &Listed<'_>, now: Time) -> Result<(), Error> {
    let dim = style::DIM;
    let who = match &listed.watcher {
        Some(watcher) => format!("{watcher} runs them, since {}", when::ago(watcher.since, now)),
        None => "nobody runs them at their times; `unstuck jobs --watch` does".to_owned(),
    };
    writeln!(out, "{dim}{who}{dim:#}")?;
    let names = listed.jobs.iter().map(|job| job.name.chars().count().min(NAME_COLUMNS_MAX));
    let widest = names.max().unwrap_or_default();
    for Line { name, standing, detail, .. } in &listed.jobs {
        let color = match standing {
            Stand::Running => style::CODE,
            Stand::Idle => style::HINT,
            Stand::NeedsAttention => style::ERROR,
            Stand::Stopped => style::DIM,
        };
        let (name, word) = (words::cut(name, NAME_COLUMNS_MAX), standing.as_str());
        writeln!(out, "  {name:widest$}  {color}{word:15}{color:#}  {detail}")?;
    }
    Ok(())
}

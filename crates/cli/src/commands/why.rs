//! `unstuck why`: shows the decisions about one run, each with its rule and counters.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use unstuck_core::engine::{Recorded, RunId};
use unstuck_store::tables::{RunEnd, RunRow, RunStatus, TaskRow};
use unstuck_store::{Store, StoreError};

use crate::args::Why;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::{self, Terminal, happened, style, when, words, wrapped};

pub(crate) fn run(args: &Why, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let found = project::runtime()?.block_on(Story::read(store.as_ref(), project.name(), args.run));
    let told = found?.ok_or_else(|| Error::Unknown {
        what: "run",
        name: args.run.to_string(),
        list: "unstuck status",
    })?;
    let mut out = terminal.styled();
    if args.json {
        render::json(&mut out, &told)?;
    } else {
        told.write(&mut out, terminal.width())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The story of a run in its JSON form.
#[derive(Serialize)]
struct Story {
    run: RunRow,
    /// Absent if the task was dropped because of its age.
    task: Option<TaskRow>,
    /// The runs before and after it in its chain of retries, including itself, oldest first.
    chain: Vec<RunRow>,
    decisions: Vec<Recorded>,
}

impl Story {
    async fn read(store: &dyn Store, project: &str, id: RunId) -> Result<Option<Self>, StoreError> {
        let Some(run) = store.run(project, id).await? else { return Ok(None) };
        let task = project::task(store, project, run.task).await?;
        let chain = chain(&run, store.runs(project, run.task).await?);
        let decisions = store.decisions(project, id).await?;
        Ok(Some(Self { run, task, chain, decisions }))
    }

    fn write(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        self.head(out, width)?;
        self.fault(out, width)?;
        self.links(out)?;
        self.decided(out, width)
    }

    fn head(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let run = &self.run;
        let task = self.task.as_ref().map(|task| words::name(task.id, &task.spec));
        let task = task.unwrap_or_else(|| format!("task {}", run.task));
        writeln!(out, "{title}Run {}{title:#} of {task}", run.id)?;
        let now = project::now();
        let began = format!("It began {}", when::ago(run.started_at, now));
        let took = run.ended_at.map(|ended| when::length(ended.since(run.started_at)));
        let took = took.map(|took| format!(" and took {took}")).unwrap_or_default();
        let line = format!("It {}. {began}{took}.", standing(run.status));
        writeln!(out, "{dim}{}{dim:#}", wrapped(&line, 0, width))
    }

    fn fault(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let Some(fault) = &self.run.fault else { return Ok(()) };
        let title = style::TITLE;
        let code = style::CODE;
        let dim = style::DIM;
        writeln!(out, "\n{title}What went wrong{title:#}")?;
        let about = fault.code();
        writeln!(
            out,
            "  {code}{about}{code:#} {dim}at{dim:#} {}",
            words::plain_line(&fault.source)
        )?;
        writeln!(out, "  {}", wrapped(about.summary(), 2, width))?;
        for line in fault.message.lines().filter(|line| !line.trim().is_empty()) {
            writeln!(out, "  {dim}{}{dim:#}", wrapped(&words::plain_line(line), 2, width))?;
        }
        Ok(())
    }

    fn links(&self, out: &mut impl Write) -> io::Result<()> {
        if self.chain.len() < 2 {
            return Ok(());
        }
        let title = style::TITLE;
        let dim = style::DIM;
        writeln!(out, "\n{title}The chain of runs{title:#}")?;
        for run in &self.chain {
            let here = if run.id == self.run.id { "  (this one)" } else { "" };
            let code = run.fault.as_ref().map(|fault| format!(": {}", fault.code()));
            let code = code.unwrap_or_default();
            let standing = standing(run.status);
            writeln!(out, "  {:5} {standing}{code}{dim}{here}{dim:#}", run.id.to_string())?;
        }
        Ok(())
    }

    fn decided(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let title = style::TITLE;
        let dim = style::DIM;
        let code = style::CODE;
        if self.decisions.is_empty() {
            return writeln!(out, "\nNothing had to be decided about it: it simply ran.");
        }
        writeln!(out, "\n{title}What was decided, and why{title:#}")?;
        for recorded in &self.decisions {
            let Some(why) = &recorded.why else { continue };
            let what = wrapped(&happened(&recorded.event, recorded.at), 2, width);
            writeln!(out, "  {what}")?;
            let counts = words::counts(why);
            let counts =
                if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
            let sentence = wrapped(&format!("{}{counts}", words::rule(why)), 4, width);
            writeln!(out, "    {dim}{sentence}{dim:#}")?;
        }
        let mut codes: Vec<_> =
            self.decisions.iter().filter_map(|recorded| recorded.why.as_ref()?.code).collect();
        codes.sort_unstable();
        codes.dedup();
        for about in codes {
            writeln!(out, "\n{dim}more:{dim:#} {code}unstuck explain {about}{code:#}")?;
        }
        Ok(())
    }
}

/// Returns the phrase for the status of a run, to follow "It".
pub(super) const fn standing(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Standing(status) => render::stands(status),
        RunStatus::Over(RunEnd::Committed) => "succeeded",
        RunStatus::Over(RunEnd::Crashed) => "was cut off",
        RunStatus::Over(RunEnd::Cancelled) => "was ended by a person",
    }
}

/// Returns the runs of the task that are linked to this one, oldest first.
fn chain(run: &RunRow, runs: Vec<RunRow>) -> Vec<RunRow> {
    let mut linked = vec![run.id];
    let mut oldest = run.retry_of;
    for before in runs.iter().rev() {
        if Some(before.id) == oldest {
            linked.push(before.id);
            oldest = before.retry_of;
        }
    }
    // Successors are younger, and the runs are sorted oldest first.
    for after in &runs {
        if after.retry_of.is_some_and(|before| linked.contains(&before)) {
            linked.push(after.id);
        }
    }
    runs.into_iter().filter(|run| linked.contains(&run.id)).collect()
}

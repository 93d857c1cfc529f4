//! `unstuck why`: shows the decisions about one run, each with its rule and counters.

use std::io::{self, Write};

use serde::Serialize;
use unstuck_core::engine::{RecordedEvent, RunId};
use unstuck_core::tell::{EventFacts, describe_event, describe_run_status};
use unstuck_store::tables::{RunEnd, RunRow, RunStatus, TaskRow};
use unstuck_store::{Store, StoreError};

use crate::args::parse_run_id;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::style::{CODE, DIM, TITLE};
use crate::render::{event_details, when, words, wrap_text};

/// Explain the decisions about a run
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The run, such as `12` or `r12`; `unstuck status` shows them
    #[arg(value_parser = parse_run_id)]
    run: RunId,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &WhyArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    let found = project::create_runtime()?.block_on(RunStory::load(
        store.as_ref(),
        project.name(),
        args.run,
    ));
    let told = found?.ok_or_else(|| CliError::unknown("run", args.run, "unstuck status"))?;
    let width = context.terminal.width();
    context.terminal.write_result(args.json, &told, |out| told.write_to(out, width))?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct RunStory {
    run: RunRow,
    /// Absent if the task was dropped because of its age.
    task: Option<TaskRow>,
    /// The runs before and after it in its chain of retries, including itself, oldest first.
    chain: Vec<RunRow>,
    decisions: Vec<RecordedEvent>,
}

impl RunStory {
    async fn load(store: &dyn Store, project: &str, id: RunId) -> Result<Option<Self>, StoreError> {
        let Some(run) = store.load_run(project, id).await? else { return Ok(None) };
        let task = project::find_task(store, project, run.task).await?;
        let chain = linked_runs(&run, store.load_task_runs(project, run.task).await?);
        let decisions = store.load_run_decisions(project, id).await?;
        Ok(Some(Self { run, task, chain, decisions }))
    }

    fn write_to(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        self.write_head(out, width)?;
        self.write_fault(out, width)?;
        self.write_chain(out)?;
        self.write_decisions(out, width)
    }

    fn write_head(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let run = &self.run;
        let task = self.task.as_ref().map(|task| words::task_name(task.id, &task.spec));
        let task = task.unwrap_or_else(|| format!("task {}", run.task));
        writeln!(out, "{TITLE}Run {}{TITLE:#} of {task}", run.id)?;
        let now = project::now();
        let began = format!("It began {}", when::render_ago(run.started_at, now));
        let took = run.ended_at.map(|ended| when::render_duration(ended.since(run.started_at)));
        let took = took.map(|took| format!(" and took {took}")).unwrap_or_default();
        let line = format!("It {}. {began}{took}.", render_run_status(run.status));
        writeln!(out, "{DIM}{}{DIM:#}", wrap_text(&line, 0, width))
    }

    fn write_fault(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        let Some(fault) = &self.run.fault else { return Ok(()) };
        writeln!(out, "\n{TITLE}What went wrong{TITLE:#}")?;
        let about = fault.code();
        writeln!(
            out,
            "  {CODE}{about}{CODE:#} {DIM}at{DIM:#} {}",
            words::plain_line(&fault.source)
        )?;
        writeln!(out, "  {}", wrap_text(about.summary(), 2, width))?;
        for line in fault.message.lines().filter(|line| !line.trim().is_empty()) {
            writeln!(out, "  {DIM}{}{DIM:#}", wrap_text(&words::plain_line(line), 2, width))?;
        }
        Ok(())
    }

    fn write_chain(&self, out: &mut impl Write) -> io::Result<()> {
        if self.chain.len() < 2 {
            return Ok(());
        }
        writeln!(out, "\n{TITLE}The chain of runs{TITLE:#}")?;
        for run in &self.chain {
            let here = if run.id == self.run.id { "  (this one)" } else { "" };
            let code = run.fault.as_ref().map(|fault| format!(": {}", fault.code()));
            let code = code.unwrap_or_default();
            let standing = render_run_status(run.status);
            writeln!(out, "  {:5} {standing}{code}{DIM}{here}{DIM:#}", run.id.to_string())?;
        }
        Ok(())
    }

    fn write_decisions(&self, out: &mut impl Write, width: usize) -> io::Result<()> {
        if self.decisions.is_empty() {
            return writeln!(out, "\nNo decision was needed: it ran without a failure.");
        }
        writeln!(out, "\n{TITLE}What was decided, and why{TITLE:#}")?;
        let facts = self.task.as_ref().map_or_else(EventFacts::default, |task| EventFacts {
            attempts: task.moved.attempts,
            failure: self.run.fault.as_deref(),
            ..EventFacts::from_spec(&task.spec)
        });
        for recorded in &self.decisions {
            let Some(why) = &recorded.why else { continue };
            let said = describe_event(recorded, &facts);
            let more = match event_details(recorded).join(", ") {
                more if more.is_empty() => more,
                more => format!(" ({more})"),
            };
            writeln!(out, "  {}", wrap_text(&format!("{said}{more}"), 2, width))?;
            let counts = words::render_counts(why);
            let counts =
                if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
            let sentence = wrap_text(&format!("{}{counts}", words::render_rule(why)), 4, width);
            writeln!(out, "    {DIM}{sentence}{DIM:#}")?;
        }
        let mut codes: Vec<_> =
            self.decisions.iter().filter_map(|recorded| recorded.why.as_ref()?.code).collect();
        codes.sort_unstable();
        codes.dedup();
        for about in codes {
            writeln!(out, "\n{DIM}more:{DIM:#} {CODE}unstuck explain {about}{CODE:#}")?;
        }
        Ok(())
    }
}

/// Returns the phrase for the status of a run, to follow "It".
pub(super) const fn render_run_status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Standing(status) => describe_run_status(status),
        RunStatus::Over(RunEnd::Committed) => "succeeded",
        RunStatus::Over(RunEnd::Crashed) => "was interrupted",
        RunStatus::Over(RunEnd::Cancelled) => "was cancelled",
    }
}

/// Returns the runs of the task that are linked to this one, oldest first.
fn linked_runs(run: &RunRow, runs: Vec<RunRow>) -> Vec<RunRow> {
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

//! `unstuck jobs history`: shows the result of each firing, with its attempts.

use std::io::{self, Write};

use serde::Serialize;
use unstuck_core::engine::{QuestionId, RecordedEvent, Rule, RunId, Status};
use unstuck_core::fault::{Charge, Code};
use unstuck_core::time::Time;
use unstuck_store::tables::{QuestionRow, RunEnd, RunRow, RunStatus};

use super::defined::{ConfiguredJobs, find_job_rows, job_logs};
use crate::commands::why;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::style::{CODE, DIM, TITLE};
use crate::render::{Terminal, when};

/// Maximum number of firings that are shown to a person.
const SHOWN_MAX: usize = 20;

/// A firing of the job, with all its attempts.
#[derive(Serialize)]
struct JobFiring {
    number: u32,
    began_at: Time,
    /// Absent while it is under way.
    ended_at: Option<Time>,
    /// Attempts, oldest first.
    attempts: Vec<FiringAttempt>,
    /// Questions that were asked during the firing.
    questions: Vec<FiringQuestion>,
    /// The path of its output, if that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

#[derive(Serialize)]
struct FiringAttempt {
    run: RunId,
    retry_of: Option<RunId>,
    status: RunStatus,
    code: Option<Code>,
    began_at: Time,
    ended_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<AttemptRepair>,
}

#[derive(Serialize)]
struct AttemptRepair {
    /// The number of the repair within the firing.
    number: u32,
    of: u32,
    /// Set if the repair is not used without a person.
    only_proposed: bool,
}

#[derive(Serialize)]
struct FiringQuestion {
    question: QuestionId,
    problem: String,
    created_at: Time,
    resolved_at: Option<Time>,
}

pub(super) fn run(
    project: &LocalProject,
    name: &str,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let firings = project::create_runtime()?.block_on(load_firings(project, name))?;
    terminal.write_result(json, &firings, |out| write_page(out, name, &firings))?;
    Ok(Exit::Done)
}

/// Returns all stored firings, oldest first.
async fn load_firings(project: &LocalProject, name: &str) -> Result<Vec<JobFiring>, CliError> {
    let never_run = || ConfiguredJobs::from_project(project)?.find(name).map(|_| Vec::new());
    let Some(store) = project.find_store()? else { return never_run() };
    let Some(row) = find_job_rows(store.as_ref(), project.name()).await?.remove(name) else {
        return never_run();
    };
    let runs = store.load_task_runs(project.name(), row.id).await?;
    let mut firings = group_by_firing(&runs, row.moved.firing, row.moved.fired_at);
    let failed = firings.iter_mut().flat_map(|firing| &mut firing.attempts);
    for attempt in failed.filter(|attempt| attempt.code.is_some()) {
        attempt.repair = find_repair(&store.load_run_decisions(project.name(), attempt.run).await?);
    }
    for question in store.load_questions(project.name(), None).await? {
        if question.tasks.contains(&row.id) {
            add_question(&mut firings, question);
        }
    }
    let logs = job_logs(project, name);
    for firing in &mut firings {
        let file = logs.log_path(firing.number);
        let shown = file.strip_prefix(project.root()).unwrap_or(&file);
        firing.output = file.exists().then(|| shown.display().to_string());
    }
    Ok(firings)
}

/// Groups the runs by firing. The latest firing is known by its number and its time; old ones may have been
/// dropped.
fn group_by_firing(runs: &[RunRow], latest: u32, fired_at: Option<Time>) -> Vec<JobFiring> {
    let mut firings: Vec<JobFiring> = Vec::new();
    let mut before: Option<&RunRow> = None;
    for run in runs {
        let is_latest = |run: &RunRow| fired_at.is_some_and(|at| run.started_at >= at);
        // Journals of earlier versions also link the first run of a firing to the run before it.
        let goes_on = before.is_some_and(|before| {
            run.retry_of.is_some()
                && !ends_firing(before.status)
                && is_latest(before) == is_latest(run)
        });
        before = Some(run);
        let attempt = FiringAttempt {
            run: run.id,
            retry_of: run.retry_of.filter(|_| goes_on),
            status: run.status,
            code: run.fault.as_ref().map(|fault| fault.code()),
            began_at: run.started_at,
            ended_at: run.ended_at,
            repair: None,
        };
        match firings.last_mut().filter(|_| goes_on) {
            Some(firing) => {
                firing.ended_at = run.ended_at;
                firing.attempts.push(attempt);
            }
            None => firings.push(JobFiring {
                number: 0,
                began_at: run.started_at,
                ended_at: run.ended_at,
                attempts: vec![attempt],
                questions: Vec::new(),
                output: None,
            }),
        }
    }
    for (firing, number) in firings.iter_mut().rev().zip((0..=latest).rev()) {
        firing.number = number;
    }
    firings
}

fn find_repair(decisions: &[RecordedEvent]) -> Option<AttemptRepair> {
    decisions.iter().filter_map(|recorded| recorded.why.as_ref()).find_map(|why| {
        let only_proposed = why.rule == Rule::ProposeOnly;
        let count = why.counts.iter().find(|count| count.counter == Charge::Repair)?;
        (only_proposed || why.rule == Rule::RepairScript).then_some(AttemptRepair {
            number: count.at,
            of: count.limit,
            only_proposed,
        })
    })
}

/// Returns the phrase for the status of an attempt, to follow its name. What an earlier attempt waited for is
/// over.
const fn render_attempt_status(status: RunStatus, is_latest: bool) -> &'static str {
    match status {
        RunStatus::Standing(Status::PausedTransient) if !is_latest => "was tried again later",
        RunStatus::Standing(Status::PausedApproval) if !is_latest => "asked you",
        RunStatus::Standing(Status::PausedReconciliation) if !is_latest => {
            "waited until it was known whether an action went through"
        }
        _ => why::render_run_status(status),
    }
}

/// Returns whether a run ended its firing, because it succeeded or a person left it out; the next run
/// belongs to another firing.
const fn ends_firing(status: RunStatus) -> bool {
    matches!(
        status,
        RunStatus::Over(RunEnd::Committed | RunEnd::Cancelled)
            | RunStatus::Standing(Status::PausedApproval | Status::PausedUser)
    )
}

/// Adds a question to the last firing that had begun before it.
fn add_question(firings: &mut [JobFiring], row: QuestionRow) {
    let began = firings.iter_mut().rev().find(|firing| firing.began_at <= row.created_at);
    if let Some(firing) = began {
        let QuestionRow { id, text, created_at, resolved_at, .. } = row;
        firing.questions.push(FiringQuestion {
            question: id,
            problem: text.problem,
            created_at,
            resolved_at,
        });
    }
}

fn write_page(out: &mut impl Write, name: &str, firings: &[JobFiring]) -> io::Result<()> {
    if firings.is_empty() {
        return writeln!(out, "“{name}” has not run yet. `unstuck jobs run {name}` runs it.");
    }
    let from = firings.len().saturating_sub(SHOWN_MAX);
    if from > 0 {
        writeln!(out, "{DIM}… and {from} before; --json has all{DIM:#}")?;
    }
    let latest = firings.last().and_then(|firing| firing.attempts.last()).map(|of| of.run);
    for firing in &firings[from..] {
        let began = when::render_minute(firing.began_at);
        let took = firing.ended_at.map(|ended| when::render_duration(ended.since(firing.began_at)));
        let took = took.map(|took| format!(" · {took}")).unwrap_or_default();
        writeln!(out, "{TITLE}{began}{TITLE:#} {DIM}· firing {}{took}{DIM:#}", firing.number)?;
        for attempt in &firing.attempts {
            let is_latest = latest.is_some_and(|run| run == attempt.run);
            let said = render_attempt_status(attempt.status, is_latest);
            // A run that succeeded keeps the fault it got past.
            let succeeded = attempt.status == RunStatus::Over(RunEnd::Committed);
            let met = attempt.code.filter(|_| !succeeded);
            let met = met.map(|met| format!(": {CODE}{met}{CODE:#}")).unwrap_or_default();
            let after = attempt.retry_of.map(|run| format!(" after {run}")).unwrap_or_default();
            writeln!(out, "  {:5} {said}{met}{DIM}{after}{DIM:#}", attempt.run.to_string())?;
            if let Some(AttemptRepair { number, of, only_proposed }) = attempt.repair {
                let became = if only_proposed { "proposed, not used" } else { "used if it passes" };
                writeln!(out, "        {DIM}repair {number} of {of}, {became}{DIM:#}")?;
            }
        }
        for asked in &firing.questions {
            let answered = if asked.resolved_at.is_some() { "answered" } else { "open" };
            writeln!(
                out,
                "  {:5} {} {DIM}({answered}){DIM:#}",
                asked.question.to_string(),
                asked.problem
            )?;
        }
        if let Some(output) = &firing.output {
            writeln!(out, "  {DIM}output in {output}{DIM:#}")?;
        }
    }
    Ok(())
}

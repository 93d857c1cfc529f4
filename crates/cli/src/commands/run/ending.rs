//! The outcomes of following builds, and the lines and summaries about them.

use std::io::{self, Write};

use unstuck_core::engine::{BuildState, GateKey, GateState, SkipReason, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::text::{failure_phrase, failure_phrase_with_facts};
use unstuck_core::time::Time;
use unstuck_store::tables::{BuildRow, GateRow, TaskRow};

use crate::exit::Exit;
use crate::project::EndSignal;
use crate::render::style::{DIM, TITLE};
use crate::render::{stand, when, words};

/// The outcome for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildsEnding {
    /// There was no build to continue.
    NothingToDo,
    /// Every task is done.
    Done,
    /// The builds are over, and some tasks were not done.
    SomeNotDone,
    /// A build could not go on at all.
    Failed(Code),
    /// A person is needed, and the maximum wait is over.
    NeedsPerson,
    /// All remaining work waits for an account or for the next day, and the maximum wait is over.
    Limited,
    /// Paused by a person, or by `--until`.
    Paused,
    /// Another process continues in the background.
    Background,
    /// A signal ended this process.
    Signal(EndSignal),
}

impl BuildsEnding {
    pub(super) const fn to_exit(self) -> Exit {
        match self {
            Self::NothingToDo | Self::Done | Self::Background => Exit::Done,
            Self::SomeNotDone => Exit::SomeFailed,
            Self::Failed(code) => Exit::from_code(code),
            Self::NeedsPerson => Exit::Waiting,
            Self::Limited => Exit::Limited,
            Self::Paused => Exit::Paused,
            Self::Signal(signal) => signal.to_exit(),
        }
    }
}

pub(super) fn write_head(out: &mut impl Write, build: &BuildRow) -> io::Result<()> {
    let id = build.id;
    let tasks = words::render_count(build.tasks as usize, "task", "tasks");
    writeln!(
        out,
        "{TITLE}build {id}{TITLE:#} · {tasks} {DIM}· answer with `unstuck inbox`{DIM:#}"
    )?;
    out.flush()
}

/// Formats that the service is limited or that a step is retried, the end of the wait as far as known, and
/// how to continue.
pub(super) fn render_limited(
    builds: &[(BuildRow, Vec<TaskRow>)],
    gates: &[GateRow],
    now: Time,
) -> String {
    let rests = builds.iter().filter_map(|(build, _)| match build.state {
        BuildState::Sleeping { until } => Some(until),
        _ => None,
    });
    let opens = |key: GateKey| {
        let gate = gates.iter().find(|row| row.key == key)?;
        if let GateState::Waiting { until } = gate.state { Some(until) } else { None }
    };
    let tasks = || builds.iter().flat_map(|(_, tasks)| tasks);
    let waits = tasks().filter_map(|task| match task.moved.state {
        TaskState::BackingOff { until, gate, .. } => until.or_else(|| opens(gate?)),
        _ => None,
    });
    let at_gate = |task: &&TaskRow| match task.moved.state {
        TaskState::BackingOff { gate, .. } => Some(gate.is_some()),
        _ => None,
    };
    // A step that failed for a passing reason is repeated, which tells nothing about the service.
    let again = tasks().find(|task| at_gate(task) == Some(false));
    let again = again.filter(|_| !tasks().any(|task| at_gate(&task) == Some(true)));
    let rests = rests.min();
    let waits = waits.min();
    let until = waits.or(rests).filter(|until| *until > now);
    let until = until.map(|until| when::render_until(until, now));
    let over = "and --max-wait has passed; `unstuck resume` continues";
    if let Some(task) = again
        && let Some(fault) = &task.moved.failure
    {
        let name = task.spec.display_name();
        let why = failure_phrase_with_facts(fault);
        let at = until.map_or_else(String::new, |until| format!(" at {until}"));
        return format!("unstuck: “{name}” is tried again{at}, because {why}, {over}");
    }
    if let (None, Some(until)) = (waits, &until)
        && let Some(spent) = stand::find_spent_day(tasks())
    {
        return format!("unstuck: {spent}; it has room again at {until}, {over}");
    }
    let what = match waits {
        None if rests.is_some() => "the budget for now is spent",
        _ => "the service is limited",
    };
    let until = until.map_or_else(String::new, |until| format!(" until {until}"));
    format!("unstuck: {what}{until}, {over}")
}

/// Says how a task ended, if it is not simply done.
fn describe_outcome(task: &TaskRow, tasks: &[TaskRow]) -> String {
    match &task.moved.state {
        TaskState::Done if stand::needed_no_change(task) => "needed no change".to_owned(),
        TaskState::Skipped { left: SkipReason::Decided } => "left out, as you chose".to_owned(),
        TaskState::Skipped { left: SkipReason::Denied } => {
            "left out: you did not allow what it needs".to_owned()
        }
        TaskState::Skipped { left: SkipReason::Needs { task: needed } } => {
            let begun = if task.moved.attempts == 0 { "not begun" } else { "left out" };
            let row = tasks.iter().find(|row| row.id == *needed);
            let name = row.map(|row| words::task_name(row.id, &row.spec));
            let name = name.map_or_else(|| "another task".to_owned(), |name| format!("“{name}”"));
            let why = match row.map(|row| &row.moved.state) {
                Some(TaskState::Skipped { .. }) => ", which was left out",
                Some(TaskState::Failed { .. }) => ", which failed",
                Some(TaskState::Cancelled) => ", which was cancelled",
                _ => "",
            };
            format!("{begun}: it needs {name}{why}")
        }
        TaskState::Failed { code } => {
            let fault = task.moved.failure.as_deref().filter(|fault| fault.code() == *code);
            let why = fault.map(failure_phrase_with_facts);
            format!("failed: {}", why.unwrap_or_else(|| failure_phrase(*code, false).to_owned()))
        }
        TaskState::Cancelled => "cancelled".to_owned(),
        _ => String::new(),
    }
}

pub(super) fn write_summary(
    out: &mut impl Write,
    build: &BuildRow,
    tasks: &[TaskRow],
    own_branch: Option<&str>,
) -> io::Result<()> {
    let all = words::render_count(tasks.len(), "task", "tasks");
    let done = stand::render_counts(&all, build, tasks);
    let cost = words::render_amount(build.spent);
    let cost = if cost.is_empty() { String::new() } else { format!(" · {cost}") };
    writeln!(out, "\n{TITLE}build {}: {done}{TITLE:#}{DIM}{cost}{DIM:#}", build.id)?;
    for task in tasks {
        let (mark, color) = stand::task_mark(task);
        let name = words::task_name(task.id, &task.spec);
        let outcome = describe_outcome(task, tasks);
        let attempts = match task.moved.attempts {
            0 if !outcome.is_empty() => String::new(),
            many => words::render_count(many as usize, "attempt", "attempts"),
        };
        let cost = words::render_amount(task.moved.spent);
        let more = [outcome, attempts, cost].into_iter().filter(|part| !part.is_empty());
        let more = more.collect::<Vec<_>>().join(" · ");
        writeln!(out, "  {color}{mark}{color:#} {name}  {DIM}{more}{DIM:#}")?;
    }
    let is_shipped =
        |task: &TaskRow| task.moved.state == TaskState::Done && !stand::needed_no_change(task);
    if !tasks.iter().any(is_shipped) {
        return Ok(());
    }
    if let Some(branch) = own_branch {
        writeln!(out, "{DIM}The work is on your own branch {branch}.{DIM:#}")?;
    } else {
        let id = build.id;
        writeln!(out, "{DIM}The work is on the branch unstuck/{id}: `unstuck land {id}`.{DIM:#}")?;
    }
    Ok(())
}

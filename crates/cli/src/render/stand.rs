//! Describes the state of a task or a build in words.

use anstyle::Style;
use unstuck_core::engine::{BuildState, SkipReason, TaskState};
use unstuck_core::tell::{BuildTally, brief, describe_spent_day};
use unstuck_core::text::failure_phrase_with_facts;
use unstuck_core::time::Time;
use unstuck_store::tables::{BuildRow, TaskChange, TaskRow};

use super::{style, when};

/// The state of a task whose question is answered, until a process takes the answer up.
pub(crate) const ANSWERED: &str = "answered; takes effect at the next start";
const NEXT_EXEC: &str = "continues when its command is run again";

/// The process that performs a task, or the condition under which one will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskPerformer {
    /// A live process.
    AtWork,
    /// None, while the build is paused.
    Paused,
    /// None, until Unstuck is started.
    NextStart,
    /// None, until its command is run again.
    NextExec,
}

/// Returns the sign in front of a task; it only repeats the words.
pub(crate) fn task_mark(row: &TaskRow) -> (&'static str, Style) {
    match &row.moved.state {
        TaskState::Done if needed_no_change(row) => ("–", style::DIM),
        TaskState::Done => ("✔", style::HINT),
        TaskState::Running { .. } => ("▸", style::CODE),
        TaskState::BackingOff { .. } => ("◷", style::CODE),
        TaskState::Parked { .. } => ("⏸", style::ERROR),
        TaskState::Reconciling { .. } => ("?", style::CODE),
        TaskState::Failed { .. } => ("✘", style::ERROR),
        TaskState::Skipped { .. } => ("–", style::DIM),
        TaskState::Cancelled => ("✘", style::DIM),
        TaskState::Pending { .. } => ("·", style::DIM),
    }
}

/// Returns whether a task is done because nothing had to be changed.
pub(crate) fn needed_no_change(row: &TaskRow) -> bool {
    row.moved.state == TaskState::Done && row.moved.unchanged.is_some()
}

/// Formats how many tasks of a build are done, with `all` in words:
/// `1 of 3 tasks done, 1 needed no change`.
pub(crate) fn render_counts(all: &str, build: &BuildRow, tasks: &[TaskRow]) -> String {
    // The row of a build that ended under an older version does not have the number.
    let unchanged = tasks.iter().filter(|row| needed_no_change(row)).count();
    let unchanged = u32::try_from(unchanged).unwrap_or(u32::MAX);
    let done = build.done.saturating_sub(unchanged);
    BuildTally { done, unchanged, ..build.tally() }.render_progress(all)
}

/// Returns the rank of a state for lists that cannot show all tasks; the most important comes first.
pub(crate) const fn state_rank(state: &TaskState) -> u8 {
    match state {
        TaskState::Parked { .. } => 0,
        TaskState::Running { .. } | TaskState::Reconciling { .. } => 1,
        TaskState::BackingOff { .. } => 2,
        TaskState::Failed { .. } => 3,
        TaskState::Skipped { .. } | TaskState::Cancelled => 4,
        TaskState::Pending { .. } => 5,
        TaskState::Done => 6,
    }
}

/// Describes the state of a task. Without a process at work on it, nothing runs and no wait ends.
pub(crate) fn render_task_state(state: &TaskState, performer: TaskPerformer, now: Time) -> String {
    match state {
        TaskState::Running { .. } => match performer {
            TaskPerformer::AtWork => brief::describe_task_state(state, "").into_owned(),
            TaskPerformer::Paused => "paused".to_owned(),
            TaskPerformer::NextStart => brief::NEXT_START.to_owned(),
            TaskPerformer::NextExec => NEXT_EXEC.to_owned(),
        },
        TaskState::BackingOff { until: Some(until), .. } if *until > now => {
            format!("waiting until {}", when::render_until(*until, now))
        }
        TaskState::BackingOff { .. } if performer == TaskPerformer::NextStart => {
            "waited; continues at the next start".to_owned()
        }
        TaskState::BackingOff { .. } if performer == TaskPerformer::NextExec => {
            NEXT_EXEC.to_owned()
        }
        TaskState::BackingOff { gate: None, .. } => "continues now".to_owned(),
        TaskState::Parked { question, .. } => {
            format!("{}: question {question}", brief::describe_task_state(state, ""))
        }
        TaskState::Skipped { left: SkipReason::Needs { task } } => {
            format!("skipped: it needs task {task}")
        }
        TaskState::Failed { code } => format!("failed: {code}"),
        state => brief::describe_task_state(state, "").into_owned(),
    }
}

/// Returns why a task waits, if it does: the failure, with the command and the address as far as known.
pub(crate) fn render_wait_reason(moved: &TaskChange, now: Time) -> Option<String> {
    match moved.state {
        TaskState::BackingOff { until: Some(until), .. } if until > now => {
            moved.failure.as_deref().map(failure_phrase_with_facts)
        }
        _ => None,
    }
}

/// Returns what a task says about the budget of the day that it found used up.
pub(crate) fn find_spent_day<'a>(mut tasks: impl Iterator<Item = &'a TaskRow>) -> Option<String> {
    tasks.find_map(|task| task.moved.failure.as_deref().and_then(describe_spent_day))
}

pub(crate) fn render_build_state(row: &BuildRow, is_at_work: bool, now: Time) -> String {
    match row.state {
        BuildState::Running if !is_at_work => "unfinished".to_owned(),
        BuildState::Sleeping { until } => {
            format!("sleeping until {}", when::render_until(until, now))
        }
        state => brief::describe_build_state(state).to_owned(),
    }
}

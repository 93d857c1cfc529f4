//! The plain words of a report. Titles and commands are quoted unchanged.

use unstuck_core::engine::{BuildState, PauseCause, SkipReason, TaskId, TaskState};
use unstuck_core::text::{VALUE_CHARS_MAX, failure_phrase, quote_words, verbatim_line};

use super::facts::{BuildFacts, TaskFacts};
use super::missing_push::find_missing_push;
use super::report::TaskCounts;

/// The public names of tasks.
pub(super) struct TaskNames<'a>(&'a [TaskFacts]);

impl<'a> TaskNames<'a> {
    pub(super) const fn new(facts: &'a BuildFacts) -> Self {
        Self(facts.tasks.as_slice())
    }

    /// Returns the task's title or name unchanged, or else its position in the plan.
    pub(super) fn task_name(&self, id: TaskId) -> String {
        let Some(at) = self.0.iter().position(|task| task.row.id == id) else {
            return "Another task".to_owned();
        };
        match verbatim_line(self.0[at].row.spec.display_name(), VALUE_CHARS_MAX) {
            unnamed if unnamed.is_empty() => format!("Task {}", at + 1),
            called => called,
        }
    }
}

/// Returns the summary in one line.
pub(super) fn render_headline(counts: TaskCounts, state: BuildState) -> String {
    let TaskCounts { tasks, shipped, unchanged, waiting, left_out, failed, cancelled, still } =
        counts;
    let noun = if tasks == 1 { "task" } else { "tasks" };
    let first = match (shipped, state.has_ended()) {
        (0, true) if unchanged > 0 => "Nothing shipped.".to_owned(),
        (0, true) => format!("Nothing shipped: none of {tasks} {noun} is done."),
        (0, false) => format!("So far, nothing of {tasks} {noun} has shipped."),
        (_, true) => format!("{shipped} of {tasks} {noun} shipped."),
        (_, false) => format!("So far, {shipped} of {tasks} {noun} shipped."),
    };
    let rest = [
        (unchanged, "needed no change", "needed no change"),
        (waiting, "waits for you", "wait for you"),
        (failed, "failed", "failed"),
        (left_out, "was left out", "were left out"),
        (cancelled, "was not finished", "were not finished"),
        (still, "is still to do", "are still to do"),
    ];
    let rest = rest.into_iter().filter(|(count, ..)| *count > 0);
    let rest =
        rest.map(|(count, one, many)| format!(" {count} {}.", if count == 1 { one } else { many }));
    format!("{first}{}", rest.collect::<String>())
}

/// Returns the reasons for the build's state that its tasks do not show.
pub(super) fn render_remarks(facts: &BuildFacts) -> Vec<String> {
    let state = facts.build.state;
    let stands = match state {
        BuildState::Running | BuildState::Completed => None,
        BuildState::Waiting => Some("All that is left waits for you.".to_owned()),
        BuildState::Sleeping { .. } => {
            Some("The build rests, because its budget for now has no room left.".to_owned())
        }
        BuildState::Paused { cause: PauseCause::Person } => {
            Some("The build is paused, as you asked.".to_owned())
        }
        BuildState::Paused { cause: PauseCause::Questions } => {
            Some("The build is paused, because too many questions are open.".to_owned())
        }
        BuildState::Paused { cause: PauseCause::Budget } => {
            Some("The build is paused, because its budget has no room left.".to_owned())
        }
        BuildState::Failed => Some(match &facts.build.failure {
            Some(fault) => {
                format!(
                    "The build could not go on, because {}.",
                    failure_phrase(fault.code(), false)
                )
            }
            None => "The build could not go on.".to_owned(),
        }),
        BuildState::Cancelled => Some("The build was ended, as you asked.".to_owned()),
    };
    let idle = !facts.at_work && matches!(state, BuildState::Running | BuildState::Sleeping { .. });
    let idle = idle.then(|| "It is not running now; the next start goes on.".to_owned());
    let push = find_missing_push(facts).map(|left| {
        format!("The work is not at the remote {}. {}", left.remote, left.render_advice())
    });
    stands.into_iter().chain(idle).chain(push).collect()
}

/// Returns the reason for which a task was not done.
pub(super) fn render_not_done_reason(
    state: &TaskState,
    build: BuildState,
    names: &TaskNames<'_>,
) -> Option<String> {
    Some(match state {
        TaskState::Failed { code } => {
            format!("It failed, because {}.", failure_phrase(*code, false))
        }
        TaskState::Skipped { left: SkipReason::Decided } => {
            "It was left out, as you chose.".to_owned()
        }
        TaskState::Skipped { left: SkipReason::Denied } => {
            "It was left out, because you did not allow what it needs.".to_owned()
        }
        TaskState::Skipped { left: SkipReason::Needs { task } } => {
            let needed = quote_words(&names.task_name(*task), VALUE_CHARS_MAX).unwrap_or_default();
            format!("It was left out, because it needs {needed}.")
        }
        TaskState::Cancelled if build == BuildState::Failed => {
            "It ended, because the build could not go on.".to_owned()
        }
        TaskState::Cancelled => "It was cancelled with the build.".to_owned(),
        TaskState::Pending { .. }
        | TaskState::Running { .. }
        | TaskState::BackingOff { .. }
        | TaskState::Parked { .. }
        | TaskState::Reconciling { .. }
        | TaskState::Done => return None,
    })
}

/// Returns the state of a task that has not ended and does not wait for a person.
pub(super) const fn describe_ongoing(state: &TaskState, at_work: bool) -> Option<&'static str> {
    Some(match state {
        TaskState::Pending { .. } => "to come",
        TaskState::Running { .. } if at_work => "being worked on",
        TaskState::Running { .. } => "cut off, and goes on at the next start",
        TaskState::BackingOff { gate: Some(_), .. } => "waiting for its account",
        TaskState::BackingOff { .. } => "waiting to try again",
        TaskState::Reconciling { .. } => "checking whether its last action went through",
        TaskState::Parked { .. }
        | TaskState::Done
        | TaskState::Skipped { .. }
        | TaskState::Failed { .. }
        | TaskState::Cancelled => return None,
    })
}

/// Joins parts, such as `a, b and c`.
pub(super) fn join_parts(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Returns the text with its first letter in upper case.
pub(super) fn capitalize_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

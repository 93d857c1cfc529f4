//! The plain words of a report. Titles and commands are quoted unchanged.

use unstuck_core::engine::{BuildState, SkipReason, TaskId, TaskState};
use unstuck_core::tell::{BUILD_WAITS, brief, describe_build_failure, describe_spent_day};
use unstuck_core::text::{VALUE_CHARS_MAX, capitalize_first, span_words, verbatim_line};

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
    let are = if shipped == 1 { "is" } else { "are" };
    let first = match (shipped, state.has_ended()) {
        (0, true) if unchanged > 0 => "Nothing was changed.".to_owned(),
        (0, true) => format!("None of {tasks} {noun} is done."),
        (0, false) => format!("So far, none of {tasks} {noun} is done."),
        (_, true) => format!("{shipped} of {tasks} {noun} {are} done."),
        (_, false) => format!("So far, {shipped} of {tasks} {noun} {are} done."),
    };
    let rest = [
        (unchanged, "needed no change", "needed no change"),
        (waiting, "waits for you", "wait for you"),
        (failed, "failed", "failed"),
        (left_out, "was skipped", "were skipped"),
        (cancelled, "was cancelled", "were cancelled"),
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
    let stands = match (state, &facts.build.failure) {
        (BuildState::Running | BuildState::Completed, _) => None,
        (BuildState::Waiting, _) => Some(BUILD_WAITS.to_owned()),
        (BuildState::Failed, Some(fault)) => Some(describe_build_failure(fault.code())),
        (BuildState::Failed, None) => Some("The build failed.".to_owned()),
        _ => Some(format!("The build is {}.", brief::describe_build_state(state))),
    };
    let idle = !facts.at_work && matches!(state, BuildState::Running | BuildState::Sleeping { .. });
    let idle = idle.then(|| "It is not running now and continues at the next start.".to_owned());
    let push = find_missing_push(facts).map(|left| {
        format!("The work is not at the remote {}. {}", left.remote, left.render_advice())
    });
    let spent = |task: &TaskFacts| task.row.moved.failure.as_deref().and_then(describe_spent_day);
    let spent = match state {
        BuildState::Sleeping { until } => facts.tasks.iter().find_map(spent).map(|spent| {
            let wait = span_words(until.since(facts.now));
            format!("{}; the day ends in {wait}.", capitalize_first(&spent))
        }),
        _ => None,
    };
    stands.into_iter().chain(spent).chain(idle).chain(push).collect()
}

/// Returns the reason for which a task was not done.
pub(super) fn render_not_done_reason(
    state: &TaskState,
    build: BuildState,
    names: &TaskNames<'_>,
) -> Option<String> {
    let needs = match state {
        TaskState::Skipped { left: SkipReason::Needs { task } } => names.task_name(*task),
        TaskState::Skipped { .. } | TaskState::Failed { .. } => String::new(),
        TaskState::Cancelled if build == BuildState::Failed => {
            return Some("Cancelled, because the build failed.".to_owned());
        }
        TaskState::Cancelled => return Some("Cancelled with its build.".to_owned()),
        _ => return None,
    };
    Some(format!("{}.", capitalize_first(&brief::describe_task_state(state, &needs))))
}

/// Returns the state of a task that has not ended and does not wait for a person.
pub(super) fn describe_ongoing(
    state: &TaskState,
    build: BuildState,
    at_work: bool,
) -> Option<String> {
    match state {
        TaskState::Running { .. } if matches!(build, BuildState::Paused { .. }) => {
            Some("paused with its build".to_owned())
        }
        TaskState::Running { .. } if !at_work => Some(brief::NEXT_START.to_owned()),
        TaskState::Parked { .. } => None,
        state if state.has_ended() => None,
        state => Some(brief::describe_task_state(state, "").into_owned()),
    }
}

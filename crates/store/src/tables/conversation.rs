//! When a conversation is over, so that what was kept of it goes.

use unstuck_core::engine::{Event, State, TaskId};

/// The task whose conversation an event ends, by what comes next. That a task ends is seen in its
/// state.
pub(super) fn over(state: &State, event: &Event) -> Option<TaskId> {
    match event {
        Event::RunStarted { task, next, .. } => next.step.begins_anew().then_some(*task),
        Event::RunResumed { run, step } | Event::RunStep { run, step } if step.begins_anew() => {
            state.run(*run).map(|run| run.task)
        }
        _ => None,
    }
}

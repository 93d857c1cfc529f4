//! The end of a conversation, at which its checkpoint is deleted.

use unstuck_core::engine::{Event, State, TaskId};

/// Returns the task whose conversation an event ends because a new one begins. The end of the task itself is
/// seen in its state.
pub(super) fn task_of_ended_conversation(state: &State, event: &Event) -> Option<TaskId> {
    match event {
        Event::RunStarted { task, next, .. } => next.step.begins_anew().then_some(*task),
        Event::RunResumed { run, step } | Event::RunStep { run, step } if step.begins_anew() => {
            state.run(*run).map(|run| run.task)
        }
        _ => None,
    }
}

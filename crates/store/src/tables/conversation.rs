//! When a conversation is over, so that what was kept of it goes.

use unstuck_core::engine::{Event, Start, State, Step, TaskId};

/// The task whose conversation an event ends, by what comes next. That a task ends is seen in its
/// state.
pub(super) fn over(state: &State, event: &Event) -> Option<TaskId> {
    match event {
        Event::RunStarted { task, next, .. } => ends_it(next.step).then_some(*task),
        Event::RunResumed { run, step } | Event::RunStep { run, step } if ends_it(*step) => {
            state.run(*run).map(|run| run.task)
        }
        _ => None,
    }
}

/// Whether whoever takes this step knows nothing of what was said before: another conversation
/// begins, or the script runs again that one was about.
const fn ends_it(step: Step) -> bool {
    match step {
        Step::Attempt { start } => match start {
            Start::Fresh | Start::KeepTree | Start::FromBase | Start::NewWorktree => true,
            Start::Resume | Start::Compacted => false,
        },
        Step::Execute => true,
        Step::AwaitMerge
        | Step::Check
        | Step::Commit
        | Step::Mutate { .. }
        | Step::Emit
        | Step::Repair { .. }
        | Step::TakeBack => false,
    }
}

//! I15: tasks that may change the same part of a project do not run side by side.
//!
//! The overlap is computed here from the globs themselves and not taken from the engine.

use std::cmp::Reverse;

use unstuck_core::engine::{Build, State, Task, TaskState};

use super::{Violation, require};

/// Checks that no two running tasks of a build overlap.
pub(super) fn check_apart(state: &State, build: &Build) -> Result<(), Violation> {
    let running: Vec<&Task> = running_tasks(state, build).collect();
    for (at, one) in running.iter().enumerate() {
        for other in &running[at + 1..] {
            require(build.standing || !scopes_overlap(one, other), "I15", || {
                format!("{} and {} of {} run side by side", one.id, other.id, build.id)
            })?;
        }
    }
    Ok(())
}

/// Returns whether no running task, and no more urgent one among those `waiting`, blocks the task.
pub(super) fn may_start(state: &State, build: &Build, task: &Task, waiting: &[&Task]) -> bool {
    if build.in_place {
        // A single working tree: a task that has begun there ends first.
        let tasks = build.tasks.iter().filter_map(|id| state.task(*id));
        let mut begun = tasks.filter(|task| task.last_run.is_some() && !task.state.has_ended());
        return begun.all(|other| other.id == task.id);
    }
    let urgency = |task: &Task| (Reverse(task.spec.priority), task.id);
    let ahead = waiting.iter().copied().filter(|other| urgency(other) < urgency(task));
    build.standing
        || !running_tasks(state, build).chain(ahead).any(|other| scopes_overlap(task, other))
}

fn running_tasks<'a>(state: &'a State, build: &'a Build) -> impl Iterator<Item = &'a Task> {
    let tasks = build.tasks.iter().filter_map(|id| state.task(*id));
    tasks.filter(|task| matches!(task.state, TaskState::Running { .. }))
}

fn scopes_overlap(one: &Task, other: &Task) -> bool {
    let one = &one.spec;
    let other = &other.spec;
    let meet = |here: &String| other.scope.allowed.iter().any(|there| prefixes_nest(here, there));
    one.serialize || other.serialize || one.scope.allowed.iter().any(meet)
}

/// Returns whether the literal prefix of one glob leads into that of the other.
fn prefixes_nest(one: &str, other: &str) -> bool {
    let literal = |glob: &str| -> Vec<String> {
        let names = glob.split('/').take_while(|name| !name.contains('*'));
        names.map(str::to_owned).collect()
    };
    literal(one).iter().zip(literal(other)).all(|(here, there)| *here == there)
}

//! Handles `Retry`: runs a task again that ended without success, together with the tasks that need
//! it.

use crate::engine::build::BuildState;
use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::task::{Left, Task, TaskState};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    let done = task.state == TaskState::Done;
    let state = match task.needs_left {
        1.. => "in need of a task that is not done",
        0 => task.state.standing().as_str(),
    };
    // A job is fired again, not retried.
    let job = Some(task.build) == turn.state.jobs;
    if !task.state.has_ended() || done || task.needs_left > 0 || job {
        return Err(Rejected::NotNow { what: format!("task {id}"), state });
    }
    let build = task.build;
    let why = Why::rule(Rule::PersonAsked);
    if turn.build_state(build).is_some_and(BuildState::has_ended) {
        turn.decide(Event::BuildResumed { build }, why.clone());
    }
    turn.decide(Event::TaskRevived { task: id }, why);
    revive_dependants(turn, id);
    Ok(())
}

fn revive_dependants(turn: &mut Turn<'_>, id: TaskId) {
    let mut revived = vec![id];
    while let Some(needed) = revived.pop() {
        let Some(dependants) = turn.state.task(needed).map(|task| task.dependants.clone()) else {
            continue;
        };
        for dependant in dependants {
            let left = Left::Needs { task: needed };
            if turn.state.task(dependant).is_none_or(|t| t.state != TaskState::Skipped { left }) {
                continue;
            }
            if let Some(task) = missing(turn, dependant) {
                let left = Left::Needs { task };
                let why = Why::rule(Rule::NeedsWhatWasLeftOut);
                turn.decide(Event::TaskSkipped { task: dependant, left }, why);
            } else {
                let why = Why::rule(Rule::PersonAsked);
                turn.decide(Event::TaskRevived { task: dependant }, why);
                revived.push(dependant);
            }
        }
    }
}

/// Returns another task that `id` needs and that ended without success: `id` would wait for it
/// forever.
fn missing(turn: &Turn<'_>, id: TaskId) -> Option<TaskId> {
    let build = turn.state.build(turn.state.task(id)?.build)?;
    let tasks = build.tasks.iter().filter_map(|task| turn.state.task(*task));
    let lost = |task: &&Task| task.state.has_ended() && task.state != TaskState::Done;
    tasks.filter(lost).find(|task| task.dependants.contains(&id)).map(|task| task.id)
}

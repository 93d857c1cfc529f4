//! Handles `Retry` and `Skip`: the operator runs a task again that ended without success, together
//! with the tasks that need it, or skips a task.

use crate::engine::command::CommandRejection;
use crate::engine::end::{current_run, is_at_uninterruptible, skip_task};
use crate::engine::event::Event;
use crate::engine::ids::TaskId;
use crate::engine::task::{SkipReason, Task, TaskState};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_retry(turn: &mut Transition<'_>, id: TaskId) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let done = task.state == TaskState::Done;
    let state = match task.needs_left {
        1.. => "in need of a task that is not done",
        0 => task.state.kind().as_str(),
    };
    // A job is fired again, not retried.
    let job = Some(task.build) == turn.state.jobs;
    if !task.state.has_ended() || done || task.needs_left > 0 || job {
        return Err(CommandRejection::NotNow { what: format!("task {id}"), state });
    }
    let build = task.build;
    let why = Why::from_rule(Rule::PersonAsked);
    if turn.has_build_ended(build) {
        turn.emit_with_reason(Event::BuildResumed { build }, why.clone());
    }
    turn.emit_with_reason(Event::TaskRevived { task: id }, why);
    revive_dependants(turn, id);
    Ok(())
}

fn revive_dependants(turn: &mut Transition<'_>, id: TaskId) {
    let mut revived = vec![id];
    while let Some(needed) = revived.pop() {
        let Some(dependants) = turn.known_task(needed).map(|task| task.dependants.clone()) else {
            continue;
        };
        for dependant in dependants {
            let left = SkipReason::Needs { task: needed };
            if turn.known_task(dependant).is_none_or(|t| t.state != TaskState::Skipped { left }) {
                continue;
            }
            if let Some(task) = unmet_dependency(turn, dependant) {
                let left = SkipReason::Needs { task };
                let why = Why::from_rule(Rule::NeedsWhatWasLeftOut);
                turn.emit_with_reason(Event::TaskSkipped { task: dependant, left }, why);
            } else {
                let why = Why::from_rule(Rule::PersonAsked);
                turn.emit_with_reason(Event::TaskRevived { task: dependant }, why);
                revived.push(dependant);
            }
        }
    }
}

/// Returns another task that `id` needs and that ended without success: `id` would wait for it
/// forever.
fn unmet_dependency(turn: &Transition<'_>, id: TaskId) -> Option<TaskId> {
    let build = turn.known_build(turn.known_task(id)?.build)?;
    let tasks = build.tasks.iter().filter_map(|task| turn.known_task(*task));
    let lost = |task: &&Task| task.state.has_ended() && task.state != TaskState::Done;
    tasks.filter(lost).find(|task| task.dependants.contains(&id)).map(|task| task.id)
}

pub(super) fn handle_skip(turn: &mut Transition<'_>, id: TaskId) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let state = if task.state.has_ended() {
        task.state.kind().as_str()
    } else if is_at_uninterruptible(turn, id) {
        "at something that cannot be stopped half-way"
    } else {
        if let Some(run) = current_run(turn, id) {
            turn.cancel_run(run);
        }
        skip_task(turn, id, SkipReason::Decided);
        return Ok(());
    };
    Err(CommandRejection::NotNow { what: format!("task {id}"), state })
}

//! Handles `Skip`: the operator skips a task.

use crate::engine::command::CommandRejection;
use crate::engine::flow;
use crate::engine::ids::TaskId;
use crate::engine::task::SkipReason;
use crate::engine::turn::Transition;

pub(super) fn handle_skip(turn: &mut Transition<'_>, id: TaskId) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let run = task.state.run().and_then(|run| turn.state.run(run));
    let busy = run.is_some_and(|run| run.owes.is_some() && !run.step.can_be_interrupted());
    let state = if task.state.has_ended() {
        task.state.kind().as_str()
    } else if busy || flow::count_open_mutations(turn, id) > 0 {
        "at something that cannot be stopped half-way"
    } else {
        let run = run.map(|run| run.id);
        if let Some(run) = run {
            turn.cancel_run(run);
        }
        flow::skip_task(turn, id, SkipReason::Decided);
        return Ok(());
    };
    Err(CommandRejection::NotNow { what: format!("task {id}"), state })
}

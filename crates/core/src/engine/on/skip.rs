//! Handles `Skip`: the operator skips a task.

use crate::engine::command::Rejected;
use crate::engine::flow;
use crate::engine::ids::TaskId;
use crate::engine::task::Left;
use crate::engine::turn::Turn;

pub(super) fn on(turn: &mut Turn<'_>, id: TaskId) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    let run = task.state.run().and_then(|run| turn.state.run(run));
    let busy = run.is_some_and(|run| run.owes.is_some() && !run.step.can_be_interrupted());
    let state = if task.state.has_ended() {
        task.state.standing().as_str()
    } else if busy || flow::open_mutations(turn, id) > 0 {
        "at something that cannot be stopped half-way"
    } else {
        let run = run.map(|run| run.id);
        if let Some(run) = run {
            turn.cancel_run(run);
        }
        flow::skip(turn, id, Left::Decided);
        return Ok(());
    };
    Err(Rejected::NotNow { what: format!("task {id}"), state })
}

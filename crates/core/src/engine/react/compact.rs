//! Compacts a conversation that no longer fits, up to a limit; then asks the operator.

use std::sync::Arc;

use super::ask::ask_after;
use crate::engine::effect::Start;
use crate::engine::event::Event;
use crate::engine::ids::RunId;
use crate::engine::run::{Next, Status, Step};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault};

pub(super) fn compact(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(place) = turn.state.run(run).map(|run| (run.task, run.place().resumed())) else {
        return;
    };
    let (id, next) = place;
    let Some(task) = turn.state.task(id) else { return };
    let count = task.counters.compactions;
    let limit = turn.policy.retry.compactions;
    let counted = |rule| Why::code(rule, fault.code()).counted(Charge::Compaction, count, limit);
    if count > limit {
        ask_after(turn, run, fault, counted(Rule::TriesUsedUp));
        return;
    }
    let next = match next.step {
        Step::Attempt { .. } => Next::attempt(Start::Compacted),
        _ => next,
    };
    turn.end_run(run, Status::FailedLogic, fault.code());
    let ready = Event::TaskReady { task: id, run: None, next };
    turn.decide(ready, counted(Rule::ConversationShortened));
}

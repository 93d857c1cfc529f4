//! Compacts a conversation that no longer fits, up to a limit; then asks the operator.

use std::sync::Arc;

use super::ask::ask_about_fault;
use crate::engine::effect::Start;
use crate::engine::event::Event;
use crate::engine::ids::RunId;
use crate::engine::run::{Next, Status, Step};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault};

pub(super) fn compact_conversation(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(place) = turn.state.run(run).map(|run| (run.task, run.position().to_resumed())) else {
        return;
    };
    let (id, next) = place;
    let Some(task) = turn.state.task(id) else { return };
    let count = task.counters.compactions;
    let limit = turn.policy.retry.compactions;
    let counted =
        |rule| Why::with_code(rule, fault.code()).with_count(Charge::Compaction, count, limit);
    if count > limit {
        ask_about_fault(turn, run, fault, counted(Rule::TriesUsedUp));
        return;
    }
    let next = match next.step {
        Step::Attempt { .. } => Next::at_attempt(Start::Compacted),
        _ => next,
    };
    turn.end_run(run, Status::FailedLogic, fault.code());
    let ready = Event::TaskReady { task: id, run: None, next };
    turn.emit_with_reason(ready, counted(Rule::ConversationShortened));
}

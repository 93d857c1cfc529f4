//! Repeats an operation once, at once, because it often succeeds the second time.

use std::sync::Arc;

use super::ask::ask_after;
use super::take_up;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow;
use crate::engine::ids::RunId;
use crate::engine::run::{Phase, Step};
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Reaction};

pub(super) fn retry_once(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>, reaction: Reaction) {
    let Some(step) = turn.state.run(run).map(|run| run.step) else { return };
    let (counter, count) = failures(turn, run, fault);
    let limit = turn.policy.retry.git;
    let why = |rule| Why::code(rule, fault.code()).counted(counter, count, limit);
    if count <= limit {
        take_up(turn, run, step);
    } else if reaction == Reaction::RetryOnceWarn {
        warn(turn, run, step, fault, why(Rule::GoesOnWithWarning));
    } else {
        ask_after(turn, run, fault, why(Rule::MaxRetriesExceeded));
    }
}

/// Returns the counter that the fault charges and its number of consecutive failures.
fn failures(turn: &Turn<'_>, run: RunId, fault: &Fault) -> (Charge, u32) {
    let Some(run) = turn.state.run(run) else { return (Charge::Git, 0) };
    let Some(task) = turn.state.task(run.task) else { return (Charge::Git, 0) };
    if fault.code().charges(task.work()).contains(&Charge::Git) {
        (Charge::Git, task.counters.git)
    } else {
        (Charge::Transient, task.transient(run.step.operation()).count)
    }
}

/// Continues the work with a warning. A failed action is skipped, and so are the actions that need
/// it.
fn warn(turn: &mut Turn<'_>, run: RunId, step: Step, fault: &Fault, why: Why) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    turn.decide(Event::Warned { task, run, code: fault.code() }, why.clone());
    if let Some(mutation) = turn.state.mutation_at(run) {
        let to = Reconciled::Skipped;
        turn.decide(Event::MutationReconciled { mutation, to, result: Arc::from("") }, why);
    }
    // Actions are walked again: the ledger knows that this one is settled.
    match step {
        Step::Mutate { .. } => take_up(turn, run, step),
        // Only the session's runtime can say that the work is done.
        Step::Attempt { .. } if flow::is_session(turn, run) => take_up(turn, run, step),
        Step::Execute => {
            flow::reach(turn, run, Phase::Emitting);
            take_up(turn, run, Step::Emit);
        }
        _ => flow::step_done(turn, run, step),
    }
}

//! What is repeated once at once, because it often just works the second time.

use std::sync::Arc;

use super::ask::ask_after;
use crate::engine::decide::Turn;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow;
use crate::engine::ids::RunId;
use crate::engine::run::Step;
use crate::engine::task::TaskState;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Reaction};

pub(super) fn retry_once(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>, reaction: Reaction) {
    let Some(step) = turn.state.run(run).map(|run| run.step) else { return };
    let (counter, count) = failures(turn, run, fault);
    let limit = turn.policy.retry.git;
    let why = |rule| Why::code(rule, fault.code()).counted(counter, count, limit);
    if count <= limit {
        again(turn, run, step);
    } else if reaction == Reaction::RetryOnceWarn {
        warn(turn, run, step, fault, why(Rule::GoesOnWithWarning));
    } else {
        ask_after(turn, run, fault, why(Rule::MaxRetriesExceeded));
    }
}

/// How often this has failed in a row, by the counter it charges.
fn failures(turn: &Turn<'_>, run: RunId, fault: &Fault) -> (Charge, u32) {
    let Some(run) = turn.state.run(run) else { return (Charge::Git, 0) };
    let Some(task) = turn.state.task(run.task) else { return (Charge::Git, 0) };
    if fault.code().charges(task.work()).contains(&Charge::Git) {
        (Charge::Git, task.counters.git)
    } else {
        (Charge::Transient, task.transient(run.step.operation()).count)
    }
}

/// The same step again. A run that stood still over an action walks its actions anew: the ledger
/// knows which of them are settled.
fn again(turn: &mut Turn<'_>, run: RunId, step: Step) {
    if !resume_standing(turn, run) {
        flow::go(turn, run, step);
    }
}

fn resume_standing(turn: &mut Turn<'_>, run: RunId) -> bool {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else {
        return false;
    };
    let TaskState::Reconciling { .. } = task.state else { return false };
    let (task, next) = (task.id, task.next);
    let ready = Event::TaskReady { task, run: Some(run), next };
    turn.decide(ready, Why::rule(Rule::RepeatedAtOnce));
    true
}

/// The work goes on without it: an action is left out, and what needs it with it.
fn warn(turn: &mut Turn<'_>, run: RunId, step: Step, fault: &Fault, why: Why) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    turn.decide(Event::Warned { task, run, code: fault.code() }, why.clone());
    if let Some(mutation) = turn.state.mutation_at(run) {
        let to = Reconciled::Skipped;
        turn.decide(Event::MutationReconciled { mutation, to, result: Arc::from("") }, why);
    }
    if !resume_standing(turn, run) {
        flow::step_done(turn, run, step);
    }
}

//! Handles `Raise`: a fault inside a running attempt. Some faults end the attempt; the others are
//! returned to the agent as the result of its action, and the attempt continues.

use std::sync::Arc;

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::{EffectId, RunId};
use crate::engine::react::{self, fail, meet, repeat_or_ask};
use crate::engine::run::Operation;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Category, Charge, Class, Code, Fault};

pub(super) fn on(
    turn: &mut Turn<'_>,
    effect: EffectId,
    fault: &Arc<Fault>,
) -> Result<(), Rejected> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(Rejected::Misfit(effect));
    }
    raised(turn, run.id, fault);
    Ok(())
}

pub(super) fn raised(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    if fault.code() == Code::GitCommitFailed {
        commit_failed(turn, run, fault);
    } else if ends_a_run(fault) {
        fail(turn, run, fault, None);
    } else {
        meet(turn, run, fault, None, false);
        match fault.class() {
            Class::EnvError => waits(turn, run, fault),
            Class::CodeError | Class::NeverRetry => react::another_way(turn, run, fault),
        }
    }
}

/// Returns whether the fault ends or pauses a run wherever it is met.
fn ends_a_run(fault: &Fault) -> bool {
    if fault.class() == Class::NeverRetry {
        return true;
    }
    match fault.category() {
        Category::Provider
        | Category::Timeout
        | Category::Validation
        | Category::Scope
        | Category::Git
        | Category::Config
        | Category::Permission
        | Category::Internal => true,
        Category::Logic => matches!(
            fault.code(),
            Code::LogicLimit | Code::LogicNoProgress | Code::LogicRepeatedApproach
        ),
        Category::Network | Category::Environment => false,
    }
}

/// Handles a failed commit in the middle of a task: the commit is repeated at once, then a warning
/// follows, because the task has another chance to commit.
fn commit_failed(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    meet(turn, run, fault, None, false);
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let count = task.counters.git;
    let limit = turn.policy.retry.git;
    let counted = |rule| Why::code(rule, fault.code()).counted(Charge::Git, count, limit);
    if count <= limit {
        let until = turn.now;
        let waits = Event::ToolWaiting { run, code: fault.code(), until };
        turn.decide(waits, counted(Rule::RepeatedAtOnce));
    } else {
        let warned = Event::Warned { task: task.id, run, code: fault.code() };
        turn.decide(warned, counted(Rule::GoesOnWithWarning));
    }
}

/// Delays the report of the fault to the agent. Unstuck never repeats the agent's own command.
fn waits(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    if let Some((until, why)) = repeat_or_ask(turn, run, Operation::Tool, fault) {
        turn.decide(Event::ToolWaiting { run, code: fault.code(), until }, why);
    }
}

//! Handles faults inside a running effect: `Raise`, `Observe` and `Blame`. Some faults end the
//! attempt; the others are returned to the agent as the result of its action, and the attempt
//! continues.

use std::sync::Arc;

use crate::attempt::{Digest, Judgement};
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow::handle_failure;
use crate::engine::ids::{EffectId, RunId};
use crate::engine::react::{record_fault, repeat_or_ask, retry_or_ask};
use crate::engine::run::{Operation, Step};
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Category, Charge, Class, Code, Fault};

pub(super) fn handle_raise(
    turn: &mut Transition<'_>,
    effect: EffectId,
    fault: &Arc<Fault>,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(CommandRejection::Misfit(effect));
    }
    handle_raised_fault(turn, run.id, fault);
    Ok(())
}

pub(super) fn handle_raised_fault(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    if fault.code() == Code::GitCommitFailed {
        commit_failed(turn, run, fault);
    } else if ends_a_run(fault) {
        handle_failure(turn, run, fault, None);
    } else {
        record_fault(turn, run, fault, None, false);
        match fault.class() {
            Class::EnvError => delay_report(turn, run, fault),
            Class::CodeError | Class::NeverRetry => retry_or_ask(turn, run, fault),
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
fn commit_failed(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    record_fault(turn, run, fault, None, false);
    let Some(task) = turn.task_of_run(run) else { return };
    let count = task.counters.git;
    let limit = turn.policy.retry.git;
    let counted = |rule| Why::with_code(rule, fault.code()).with_count(Charge::Git, count, limit);
    if count <= limit {
        let until = turn.now;
        let waits = Event::ToolWaiting { run, code: fault.code(), until };
        turn.emit_with_reason(waits, counted(Rule::RepeatedAtOnce));
    } else {
        let warned = Event::Warned { task: task.id, run, code: fault.code() };
        turn.emit_with_reason(warned, counted(Rule::GoesOnWithWarning));
    }
}

/// Delays the report of the fault to the agent. Unstuck never repeats the agent's own command.
fn delay_report(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    if let Some((until, why)) = repeat_or_ask(turn, run, Operation::Tool, fault) {
        turn.emit_with_reason(Event::ToolWaiting { run, code: fault.code(), until }, why);
    }
}

/// Records a failed command of the agent. Often the failure is only an observation; one that is
/// judged a fault is raised.
pub(super) fn handle_observe(
    turn: &mut Transition<'_>,
    effect: EffectId,
    fault: &Arc<Fault>,
    tree: Option<Digest>,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(CommandRejection::Misfit(effect));
    }
    let id = run.id;
    let judgement = run.seen.judge_without_recording(Some(fault), tree);
    turn.emit_event(Event::Observed { run: id, signature: fault.signature, tree });
    if judgement == Judgement::Fault {
        handle_raised_fault(turn, id, fault);
    }
    Ok(())
}

/// Records the fault that a script names. It counts if the script ends without success.
pub(super) fn handle_blame(
    turn: &mut Transition<'_>,
    effect: EffectId,
    fault: Arc<Fault>,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if run.step != Step::Execute {
        return Err(CommandRejection::Misfit(effect));
    }
    let run = run.id;
    turn.emit_event(Event::Blamed { run, fault });
    Ok(())
}

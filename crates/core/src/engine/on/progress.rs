//! Handles `Progress`: records the progress and the cost of a running attempt.

use std::sync::Arc;

use super::reserve::overspent_fault;
use super::settle::record_spending;
use crate::engine::command::{CommandRejection, ProgressReport};
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{EffectId, RunId};
use crate::engine::react::handle_failure;
use crate::engine::turn::Transition;
use crate::fault::{Fault, Limit, LimitKind};
use crate::policy::Amount;

pub(super) fn handle_progress(
    turn: &mut Transition<'_>,
    effect: EffectId,
    report: ProgressReport,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    if !run.step.needs_gate() {
        return Err(CommandRejection::Misfit(effect));
    }
    let id = run.id;
    let task = run.task;
    // Calls of an agent program are not reserved: a program that continues after the budget is used
    // up is stopped, and a program whose last call was too expensive has finished.
    let overspent = overspent_fault(turn, task);
    record_spending(turn, id, report.spent);
    if let Some(fault) = overspent.filter(|_| report.spent != Amount::ZERO) {
        handle_failure(turn, id, &Arc::new(fault), None);
        return Ok(());
    }
    if report.shows_answer() {
        flow::record_successful_call(turn, task);
    }
    let ProgressReport { iterations, tool_calls, validated, .. } = report;
    turn.emit_event(Event::RunProgress { run: id, iterations, tool_calls, validated });
    if let Some(fault) = steps_used_up(turn, id) {
        handle_failure(turn, id, &Arc::new(fault), None);
    }
    Ok(())
}

fn steps_used_up(turn: &Transition<'_>, id: RunId) -> Option<Fault> {
    let run = turn.state.run(id)?;
    let own = &turn.state.task(run.task)?.spec.overrides;
    let retry = &turn.policy.retry;
    let limits = [
        (LimitKind::Iterations, run.iterations, own.iterations.unwrap_or(retry.iterations)),
        (LimitKind::ToolCalls, run.tool_calls, own.tool_calls.unwrap_or(retry.tool_calls)),
    ];
    let (kind, used, limit) = limits.into_iter().find(|(_, used, limit)| used >= limit)?;
    let message = format!("{used} of {limit} steps are used up");
    Some(Fault::logic_limit("run", message, Limit { kind, limit }))
}

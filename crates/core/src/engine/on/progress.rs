//! Handles the progress and the cost of a running attempt: `Progress` and `Reserve`.

use std::sync::Arc;

use crate::engine::caps::{TaskBudget, task_budgets};
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::report::ProgressReport;
use crate::engine::transition::Transition;
use crate::fault::{BudgetSpan, BudgetSpent, Fault, Limit, LimitKind};
use crate::policy::Amount;

/// The unit of a budget of working time.
pub(super) const TIME: &str = "time";

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
    let continued = overspent_fault(turn, task).is_some() && report.spent != Amount::ZERO;
    record_spending(turn, id, report.spent);
    if let Some(fault) = overspent_fault(turn, task).filter(|_| continued) {
        flow::handle_failure(turn, id, &Arc::new(fault), None);
        return Ok(());
    }
    if report.shows_answer() {
        flow::record_successful_call(turn, task);
    }
    let ProgressReport { iterations, tool_calls, validated, idle, .. } = report;
    turn.emit_event(Event::RunProgress { run: id, iterations, tool_calls, validated, idle });
    if let Some(fault) = steps_used_up(turn, id) {
        flow::handle_failure(turn, id, &Arc::new(fault), None);
    }
    Ok(())
}

fn steps_used_up(turn: &Transition<'_>, id: RunId) -> Option<Fault> {
    let run = turn.known_run(id)?;
    let own = &turn.task_of_run(id)?.spec.overrides;
    let retry = &turn.policy.retry;
    let limits = [
        (LimitKind::Iterations, run.iterations, own.iterations.unwrap_or(retry.iterations)),
        (LimitKind::ToolCalls, run.tool_calls, own.tool_calls.unwrap_or(retry.tool_calls)),
    ];
    let (kind, used, limit) = limits.into_iter().find(|(_, used, limit)| used >= limit)?;
    let message = format!("{used} of {limit} steps are used up");
    Some(Fault::logic_limit("run", message, Limit { kind, limit }))
}

/// Releases the run's reservation and records its cost as spent.
pub(super) fn record_spending(turn: &mut Transition<'_>, run: RunId, spent: Amount) {
    let Some((task, reserved)) = turn.known_run(run).map(|run| (run.task, run.reserved)) else {
        return;
    };
    if !spent.is_zero() || !reserved.is_zero() {
        let day = turn.policy.budget.day_number(turn.now);
        let reserved = Amount::ZERO;
        turn.emit_event(Event::BudgetUpdated { task, run, spent, reserved, day, wind_down: false });
    }
}

/// Reserves budget for the next call, or fails the run if there is no room.
pub(super) fn handle_reserve(
    turn: &mut Transition<'_>,
    effect: EffectId,
    amount: Amount,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    let id = run.id;
    let task = run.task;
    let reserved = run.reserved;
    let budgets = task_budgets(turn.state, &turn.policy.budget, turn.now, task)
        .ok_or(CommandRejection::NoTask(task))?;
    let mut wind_down = false;
    for TaskBudget { span, cap, used } in budgets {
        let spent = used.saturating_sub(reserved);
        let used = spent.saturating_add(amount);
        if let Some(unit) = used.exceeded_unit(cap) {
            let fault = exhausted_fault(BudgetSpent {
                span,
                unit: unit.to_owned(),
                limit: cap,
                spent,
                needed: amount,
            });
            flow::handle_failure(turn, id, &Arc::new(fault), None);
            return Ok(());
        }
        wind_down |=
            used.exceeded_unit(cap.percent(turn.policy.budget.wind_down_percent)).is_some();
    }
    if amount == Amount::ZERO && reserved == Amount::ZERO && !wind_down {
        return Ok(());
    }
    let day = turn.policy.budget.day_number(turn.now);
    let spent = Amount::ZERO;
    turn.emit_event(Event::BudgetUpdated {
        task,
        run: id,
        spent,
        reserved: amount,
        day,
        wind_down,
    });
    Ok(())
}

/// Returns the fault for a budget of the task that is already exceeded.
pub(super) fn overspent_fault(turn: &Transition<'_>, task: TaskId) -> Option<Fault> {
    turn.known_build(turn.known_task(task)?.build)?;
    let budgets = task_budgets(turn.state, &turn.policy.budget, turn.now, task)?;
    budgets.into_iter().find_map(|TaskBudget { span, cap: limit, used: spent }| {
        let unit = spent.exceeded_unit(limit)?.to_owned();
        Some(exhausted_fault(BudgetSpent { span, unit, limit, spent, needed: Amount::ZERO }))
    })
}

/// Returns the fault for the budget of the task with the least working time left. The agent was ended for
/// it, a moment before its work has counted that time.
pub(super) fn spent_time_fault(turn: &Transition<'_>, task: TaskId) -> Option<Fault> {
    let budgets = task_budgets(turn.state, &turn.policy.budget, turn.now, task)?;
    let limited = budgets.into_iter().filter(|budget| budget.cap.time_ms > 0);
    let left = |budget: &TaskBudget| budget.cap.time_ms.saturating_sub(budget.used.time_ms);
    let TaskBudget { span, cap: limit, used: spent } = limited.min_by_key(left)?;
    let unit = TIME.to_owned();
    Some(exhausted_fault(BudgetSpent { span, unit, limit, spent, needed: Amount::ZERO }))
}

fn exhausted_fault(context: BudgetSpent) -> Fault {
    Fault::budget_exhausted(budget_source(context.span), "no room for the next call", context)
}

const fn budget_source(span: BudgetSpan) -> &'static str {
    match span {
        BudgetSpan::Task => "budget:task",
        BudgetSpan::Build => "budget:build",
        BudgetSpan::Day => "budget:day",
    }
}

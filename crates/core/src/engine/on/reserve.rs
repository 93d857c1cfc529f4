//! Handles `Reserve`: reserves budget for the next call, or fails the run if there is no room.

use std::sync::Arc;

use crate::engine::caps::{budget_caps, used_amount};
use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::{EffectId, TaskId};
use crate::engine::react::{day_number, handle_failure};
use crate::engine::turn::Transition;
use crate::fault::{BudgetSpan, BudgetSpent, Fault};
use crate::policy::Amount;

pub(super) fn handle_reserve(
    turn: &mut Transition<'_>,
    effect: EffectId,
    amount: Amount,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    let id = run.id;
    let task = run.task;
    let reserved = run.reserved;
    let spans =
        budget_caps(turn.state, &turn.policy.budget, task).ok_or(CommandRejection::NoTask(task))?;
    let mut wind_down = false;
    for (span, cap) in spans {
        let now = (&turn.policy.budget, turn.now);
        let spent = used_amount(turn.state, now, task, span).saturating_sub(reserved);
        let used = spent.saturating_add(amount);
        if let Some(unit) = used.exceeded_unit(cap) {
            // A daily budget that could never pay for the call would be slept through forever.
            let span = match span {
                BudgetSpan::Day if amount.exceeded_unit(cap).is_some() => BudgetSpan::Build,
                span => span,
            };
            let fault = exhausted_fault(BudgetSpent {
                span,
                unit: unit.to_owned(),
                limit: cap,
                spent,
                needed: amount,
            });
            handle_failure(turn, id, &Arc::new(fault), None);
            return Ok(());
        }
        wind_down |=
            used.exceeded_unit(cap.percent(turn.policy.budget.wind_down_percent)).is_some();
    }
    if amount == Amount::ZERO && reserved == Amount::ZERO && !wind_down {
        return Ok(());
    }
    let day = day_number(&turn.policy.budget, turn.now);
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
    let budget = &turn.policy.budget;
    budget_caps(turn.state, budget, task)?.into_iter().find_map(|(span, limit)| {
        let spent = used_amount(turn.state, (budget, turn.now), task, span);
        let unit = spent.exceeded_unit(limit)?.to_owned();
        Some(exhausted_fault(BudgetSpent { span, unit, limit, spent, needed: Amount::ZERO }))
    })
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

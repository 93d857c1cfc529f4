//! Handles `Reserve`: reserves budget for the next call, or fails the run if there is no room.

use std::sync::Arc;

use crate::engine::caps::{caps, used};
use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::{EffectId, TaskId};
use crate::engine::react::{day_number, fail};
use crate::engine::turn::Turn;
use crate::fault::{BudgetSpan, BudgetSpent, Fault};
use crate::policy::Amount;

pub(super) fn on(turn: &mut Turn<'_>, effect: EffectId, amount: Amount) -> Result<(), Rejected> {
    let run = turn.run_owed(effect)?;
    let id = run.id;
    let task = run.task;
    let reserved = run.reserved;
    let spans = caps(turn.state, &turn.policy.budget, task).ok_or(Rejected::NoTask(task))?;
    let mut wind_down = false;
    for (span, cap) in spans {
        let now = (&turn.policy.budget, turn.now);
        let spent = used(turn.state, now, task, span).minus(reserved);
        let used = spent.plus(amount);
        if let Some(unit) = used.over(cap) {
            // A daily budget that could never pay for the call would be slept through forever.
            let span = match span {
                BudgetSpan::Day if amount.over(cap).is_some() => BudgetSpan::Build,
                span => span,
            };
            let fault = no_room(BudgetSpent {
                span,
                unit: unit.to_owned(),
                limit: cap,
                spent,
                needed: amount,
            });
            fail(turn, id, &Arc::new(fault), None);
            return Ok(());
        }
        wind_down |= used.over(cap.percent(turn.policy.budget.wind_down_percent)).is_some();
    }
    if amount == Amount::ZERO && reserved == Amount::ZERO && !wind_down {
        return Ok(());
    }
    let day = day_number(&turn.policy.budget, turn.now);
    let spent = Amount::ZERO;
    turn.emit(Event::BudgetUpdated { task, run: id, spent, reserved: amount, day, wind_down });
    Ok(())
}

/// Returns the fault for a budget of the task that is already exceeded.
pub(super) fn overspent(turn: &Turn<'_>, task: TaskId) -> Option<Fault> {
    let budget = &turn.policy.budget;
    caps(turn.state, budget, task)?.into_iter().find_map(|(span, limit)| {
        let spent = used(turn.state, (budget, turn.now), task, span);
        let unit = spent.over(limit)?.to_owned();
        Some(no_room(BudgetSpent { span, unit, limit, spent, needed: Amount::ZERO }))
    })
}

fn no_room(context: BudgetSpent) -> Fault {
    Fault::budget_exhausted(place(context.span), "no room for the next call", context)
}

const fn place(span: BudgetSpan) -> &'static str {
    match span {
        BudgetSpan::Task => "budget:task",
        BudgetSpan::Build => "budget:build",
        BudgetSpan::Day => "budget:day",
    }
}

//! The budget limits of a task, its build and the day, and how much of them is used.

use serde::{Deserialize, Serialize};

use super::build::Build;
use super::ids::TaskId;
use super::state::State;
use crate::fault::BudgetSpan;
use crate::policy::{Amount, BudgetLimits};
use crate::time::Time;

/// Returns the limits that hold for a task, including what the operator added to them.
pub(super) fn budget_caps(
    state: &State,
    budget: &BudgetLimits,
    id: TaskId,
) -> Option<[(BudgetSpan, Amount); 3]> {
    let task = state.task(id)?;
    let build = state.build(task.build)?;
    let own = task.spec.overrides.budget.unwrap_or(budget.per_task);
    Some([
        (BudgetSpan::Task, own.raised_by(task.raised)),
        (BudgetSpan::Build, build_budget(state, budget, build).raised_by(build.raised)),
        (BudgetSpan::Day, budget.per_day),
    ])
}

/// Returns the limit of a build without what the operator added: the one that it was started with,
/// or the project's.
pub(super) fn build_budget(state: &State, budget: &BudgetLimits, build: &Build) -> Amount {
    // The standing build of the jobs never ends, so its total cost is no measure.
    if build.standing {
        return Amount::ZERO;
    }
    let first = build.tasks.first().and_then(|task| state.task(*task));
    first.and_then(|task| task.spec.overrides.build_budget).unwrap_or(budget.per_build)
}

/// Returns the amount of a budget that is spent or reserved.
pub(super) fn used_amount(
    state: &State,
    (budget, now): (&BudgetLimits, Time),
    id: TaskId,
    span: BudgetSpan,
) -> Amount {
    let Some(task) = state.task(id) else { return Amount::ZERO };
    match span {
        BudgetSpan::Task => task.spent.saturating_add(task.reserved),
        BudgetSpan::Build => state
            .build(task.build)
            .map_or(Amount::ZERO, |build| build.spent.saturating_add(build.reserved)),
        BudgetSpan::Day => {
            let today = budget.day_number(now) <= state.day.number;
            let spent = if today { state.day.spent } else { Amount::ZERO };
            spent.saturating_add(state.day.reserved)
        }
    }
}

/// The amount that a task may still spend: the least that is left of its own budget, its build's
/// and the day's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLeft {
    /// Money in millionths; `None` if no limit is about money.
    pub money_micros: Option<u64>,
    /// Working time in milliseconds; `None` if no limit is about time.
    pub time_ms: Option<u64>,
}

/// Returns the amount that a task may still spend.
pub fn budget_left(state: &State, budget: &BudgetLimits, now: Time, id: TaskId) -> BudgetLeft {
    let Some(caps) = budget_caps(state, budget, id) else { return BudgetLeft::default() };
    let least = |of: fn(Amount) -> u64| {
        let caps = caps.iter().filter(|(_, cap)| of(*cap) > 0);
        caps.map(|(span, cap)| of(cap.saturating_sub(used_amount(state, (budget, now), id, *span))))
            .min()
    };
    BudgetLeft {
        money_micros: least(|amount| amount.money_micros),
        time_ms: least(|amount| amount.time_ms),
    }
}

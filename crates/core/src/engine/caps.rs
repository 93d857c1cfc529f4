//! The budget limits of a task, its build and the day, and how much of them is used.

use serde::{Deserialize, Serialize};

use super::build::Build;
use super::ids::TaskId;
use super::state::State;
use crate::fault::BudgetSpan;
use crate::policy::{Amount, BudgetLimits};
use crate::time::Time;

/// One of the budgets that hold for a task.
pub(super) struct TaskBudget {
    pub(super) span: BudgetSpan,
    /// The limit, including what the operator added to it.
    pub(super) cap: Amount,
    /// The amount that is spent or reserved.
    pub(super) used: Amount,
}

/// Returns the budgets that hold for a task; `None` if there is no such task.
pub(super) fn task_budgets(
    state: &State,
    budget: &BudgetLimits,
    now: Time,
    id: TaskId,
) -> Option<[TaskBudget; 3]> {
    let task = state.task(id)?;
    let build = state.build(task.build)?;
    let own = task.spec.overrides.budget.unwrap_or(budget.per_task);
    let day = budget.day_number(now);
    let spent_today = if day <= state.day.number { state.day.spent } else { Amount::ZERO };
    Some([
        TaskBudget {
            span: BudgetSpan::Task,
            cap: own.raised_by(task.raised),
            used: task.spent.saturating_add(task.reserved),
        },
        TaskBudget {
            span: BudgetSpan::Build,
            cap: build_budget(state, budget, build).raised_by(build.raised),
            used: build.spent.saturating_add(build.reserved),
        },
        TaskBudget {
            span: BudgetSpan::Day,
            cap: budget.per_day.raised_by(build.raised_on(day)),
            used: spent_today.saturating_add(state.day.reserved),
        },
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
    let Some(budgets) = task_budgets(state, budget, now, id) else { return BudgetLeft::default() };
    let least = |of: fn(Amount) -> u64| {
        let limited = budgets.iter().filter(|budget| of(budget.cap) > 0);
        limited.map(|budget| of(budget.cap.saturating_sub(budget.used))).min()
    };
    BudgetLeft {
        money_micros: least(|amount| amount.money_micros),
        time_ms: least(|amount| amount.time_ms),
    }
}

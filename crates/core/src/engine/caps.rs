//! How much of a budget there is, and how much of it is used.

use super::ids::TaskId;
use super::state::State;
use crate::fault::BudgetSpan;
use crate::policy::{Amount, Budget};
use crate::time::Time;

/// The caps that hold for a task, with what a person added to them.
pub(super) fn caps(
    state: &State,
    budget: &Budget,
    id: TaskId,
) -> Option<[(BudgetSpan, Amount); 3]> {
    let task = state.task(id)?;
    let build = state.build(task.build)?;
    let own = task.spec.overrides.budget.unwrap_or(budget.per_task);
    // The home of all jobs never ends, so what it costs in all is no measure.
    let whole = if build.standing { Amount::ZERO } else { budget.per_build };
    Some([
        (BudgetSpan::Task, own.raised_by(task.raised)),
        (BudgetSpan::Build, whole.raised_by(build.raised)),
        (BudgetSpan::Day, budget.per_day),
    ])
}

/// What is spent and reserved of a budget.
pub(super) fn used(
    state: &State,
    (budget, now): (&Budget, Time),
    id: TaskId,
    span: BudgetSpan,
) -> Amount {
    let Some(task) = state.task(id) else { return Amount::ZERO };
    match span {
        BudgetSpan::Task => task.spent.plus(task.reserved),
        BudgetSpan::Build => {
            state.build(task.build).map_or(Amount::ZERO, |build| build.spent.plus(build.reserved))
        }
        BudgetSpan::Day => {
            let today = budget.day_number(now) <= state.day.number;
            let spent = if today { state.day.spent } else { Amount::ZERO };
            spent.plus(state.day.reserved)
        }
    }
}

/// The money that a task may still spend, in millionths: the least that is left of its own budget, its
/// build's and the day's. None where no cap is about money.
pub fn money_left(state: &State, budget: &Budget, now: Time, id: TaskId) -> Option<u64> {
    let caps = caps(state, budget, id)?.into_iter();
    let caps = caps.filter(|(_, cap)| cap.money_micros > 0);
    caps.map(|(span, cap)| cap.minus(used(state, (budget, now), id, span)).money_micros).min()
}

//! The cost of a build, and how much of it is known.

use unstuck_core::policy::Amount;
use unstuck_core::time::Span;

use super::facts::{BuildFacts, TaskFacts};
use super::report::{BuildCost, CostCoverage, TaskCost};
use super::words::TaskNames;

/// Returns the cost of a build.
pub(super) fn compute_build_cost(facts: &BuildFacts, names: &TaskNames<'_>) -> BuildCost {
    let begun = facts.tasks.iter().filter(|task| !task.runs.is_empty());
    let tasks: Vec<TaskCost> = begun.map(|task| compute_task_cost(facts, names, task)).collect();
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    BuildCost {
        total: facts.build.spent,
        priced: combine_coverage(&tasks),
        took_ms: ended.since(facts.build.started_at),
        tasks,
    }
}

fn compute_task_cost(facts: &BuildFacts, names: &TaskNames<'_>, task: &TaskFacts) -> TaskCost {
    let moved = &task.row.moved;
    TaskCost {
        task: task.row.id,
        title: names.task_name(task.row.id),
        spent: moved.spent,
        priced: cost_coverage(moved.spent),
        attempts: task.count_attempts(),
        took_ms: compute_task_span(facts, task),
    }
}

/// Returns the time from the start of the first run to the end of the last one, including all
/// waits.
pub(super) fn compute_task_span(facts: &BuildFacts, task: &TaskFacts) -> Span {
    let began = task.runs.first().map(|run| run.started_at);
    let ended = task.runs.last().map(|run| run.ended_at.unwrap_or(facts.now));
    match (began, ended) {
        (Some(began), Some(ended)) => ended.since(began),
        _ => Span::ZERO,
    }
}

const fn cost_coverage(spent: Amount) -> CostCoverage {
    if spent.money_micros > 0 {
        CostCoverage::Money
    } else if spent.tokens > 0 {
        CostCoverage::TokensOnly
    } else {
        CostCoverage::NotMeasured
    }
}

fn combine_coverage(tasks: &[TaskCost]) -> CostCoverage {
    let first = tasks.first().map_or(CostCoverage::NotMeasured, |task| task.priced);
    if tasks.iter().all(|task| task.priced == first) {
        first
    } else if tasks.iter().any(|task| task.priced == CostCoverage::Money) {
        CostCoverage::Partly
    } else {
        CostCoverage::TokensOnly
    }
}

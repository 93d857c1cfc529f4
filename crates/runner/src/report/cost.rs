//! The cost of a build, and how much of it is known.

use unstuck_core::policy::Amount;
use unstuck_core::time::Span;

use super::facts::{Facts, TaskFacts};
use super::report::{Cost, Priced, Spending};
use super::words::Names;

/// Returns the cost of a build.
pub(super) fn of(facts: &Facts, names: &Names<'_>) -> Cost {
    let begun = facts.tasks.iter().filter(|task| !task.runs.is_empty());
    let tasks: Vec<Spending> = begun.map(|task| spending(facts, names, task)).collect();
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    Cost {
        total: facts.build.spent,
        priced: together(&tasks),
        took_ms: ended.since(facts.build.started_at),
        tasks,
    }
}

fn spending(facts: &Facts, names: &Names<'_>, task: &TaskFacts) -> Spending {
    let moved = &task.row.moved;
    Spending {
        task: task.row.id,
        title: names.of(task.row.id),
        spent: moved.spent,
        priced: priced(moved.spent),
        attempts: task.attempts(),
        took_ms: took(facts, task),
    }
}

/// Returns the time from the start of the first run to the end of the last one, including all
/// waits.
pub(super) fn took(facts: &Facts, task: &TaskFacts) -> Span {
    let began = task.runs.first().map(|run| run.started_at);
    let ended = task.runs.last().map(|run| run.ended_at.unwrap_or(facts.now));
    match (began, ended) {
        (Some(began), Some(ended)) => ended.since(began),
        _ => Span::ZERO,
    }
}

const fn priced(spent: Amount) -> Priced {
    if spent.money_micros > 0 {
        Priced::Money
    } else if spent.tokens > 0 {
        Priced::TokensOnly
    } else {
        Priced::NotMeasured
    }
}

fn together(tasks: &[Spending]) -> Priced {
    let first = tasks.first().map_or(Priced::NotMeasured, |task| task.priced);
    if tasks.iter().all(|task| task.priced == first) {
        first
    } else if tasks.iter().any(|task| task.priced == Priced::Money) {
        Priced::Partly
    } else {
        Priced::TokensOnly
    }
}

//! Reacts to a budget without room for the next call.

use std::sync::Arc;

use super::ask::ask_after;
use super::take_up;
use crate::engine::build::BuildState;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{BuildId, RunId};
use crate::engine::run::Status;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{BudgetSpan, Code, Fault, Kind};
use crate::policy::Budget;
use crate::time::{Span, Time};

const DAY: Span = Span::from_hours(24);

/// Returns the number of the project's day that contains `now`.
pub(in crate::engine) fn day_number(budget: &Budget, now: Time) -> u64 {
    budget.day_number(now)
}

fn next_day(budget: &Budget, now: Time) -> Time {
    let number = day_number(budget, now) + 1;
    Time::from_millis(number.saturating_mul(DAY.as_millis())) + budget.day_starts_ms
}

pub(super) fn spent(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let span = match &fault.kind {
        Kind::BudgetExhausted(context) => context.span,
        _ => BudgetSpan::Task,
    };
    let why = Why::code(Rule::BudgetSpent, fault.code());
    match span {
        BudgetSpan::Task => ask_after(turn, run, fault, why),
        BudgetSpan::Build => {
            with_build(turn, run, |turn, build| turn.pause_for_budget(build, fault));
        }
        BudgetSpan::Day => {
            let until = next_day(&turn.policy.budget, turn.now);
            with_build(turn, run, |turn, build| {
                let sleeps = Event::Sleeping { build, until };
                let why = Why::code(Rule::SleepUntilNextWindow, fault.code());
                flow::hold(turn, build, sleeps, why);
            });
        }
    }
}

/// Holds the whole build, unless it is on hold already, and pauses the run.
fn with_build(turn: &mut Turn<'_>, run: RunId, hold: impl FnOnce(&mut Turn<'_>, BuildId)) {
    let Some((task, step)) = turn.state.run(run).map(|run| (run.task, run.place().resumed().step))
    else {
        return;
    };
    let Some(build) = turn.state.task(task).map(|task| task.build) else { return };
    if turn.build_state(build).is_some_and(BuildState::lets_work) {
        hold(turn, build);
    }
    match turn.state.run(run).map(|run| run.status) {
        Some(Status::Active) => {
            turn.pause_run(run, Status::PausedApproval, step, Some(Code::BudgetExhausted));
        }
        // The run was paused over an action; it waits for a slot once the build continues.
        Some(Status::PausedReconciliation) => take_up(turn, run, step),
        _ => {}
    }
}

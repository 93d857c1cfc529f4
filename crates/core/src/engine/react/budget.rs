//! Reacts to a budget without room for the next call.

use std::sync::Arc;

use super::ask::ask_about_fault;
use super::resume_at_step;
use crate::engine::build::BuildState;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{BuildId, RunId};
use crate::engine::run::Status;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{BudgetSpan, Code, Fault, Kind};
use crate::policy::BudgetLimits;
use crate::time::{Span, Time};

const DAY: Span = Span::from_hours(24);

/// Returns the number of the project's day that contains `now`.
pub(in crate::engine) fn day_number(budget: &BudgetLimits, now: Time) -> u64 {
    budget.day_number(now)
}

fn next_day(budget: &BudgetLimits, now: Time) -> Time {
    let number = day_number(budget, now) + 1;
    Time::from_millis(number.saturating_mul(DAY.as_millis())) + budget.day_starts_ms
}

pub(super) fn handle_spent_budget(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let span = match &fault.kind {
        Kind::BudgetExhausted(context) => context.span,
        _ => BudgetSpan::Task,
    };
    let why = Why::with_code(Rule::BudgetSpent, fault.code());
    match span {
        BudgetSpan::Task => ask_about_fault(turn, run, fault, why),
        BudgetSpan::Build => {
            hold_build_and_pause(turn, run, |turn, build| turn.pause_for_budget(build, fault));
        }
        BudgetSpan::Day => {
            let until = next_day(&turn.policy.budget, turn.now);
            hold_build_and_pause(turn, run, |turn, build| {
                let sleeps = Event::Sleeping { build, until };
                let why = Why::with_code(Rule::SleepUntilNextWindow, fault.code());
                flow::hold_build(turn, build, sleeps, why);
            });
        }
    }
}

/// Holds the whole build, unless it is on hold already, and pauses the run.
fn hold_build_and_pause(
    turn: &mut Transition<'_>,
    run: RunId,
    hold: impl FnOnce(&mut Transition<'_>, BuildId),
) {
    let Some((task, step)) =
        turn.state.run(run).map(|run| (run.task, run.position().to_resumed().step))
    else {
        return;
    };
    let Some(build) = turn.state.task(task).map(|task| task.build) else { return };
    if turn.build_state(build).is_some_and(BuildState::allows_work) {
        hold(turn, build);
    }
    match turn.state.run(run).map(|run| run.status) {
        Some(Status::Active) => {
            turn.pause_run(run, Status::PausedApproval, step, Some(Code::BudgetExhausted));
        }
        // The run was paused over an action; it waits for a slot once the build continues.
        Some(Status::PausedReconciliation) => resume_at_step(turn, run, step),
        _ => {}
    }
}

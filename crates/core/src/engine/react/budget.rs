//! Reacts to a budget without room for the next call.

use std::sync::Arc;

use super::RunMove;
use super::park::ask_about_fault;
use crate::engine::build::BuildState;
use crate::engine::end::{hold_build, pause_for_budget};
use crate::engine::event::Event;
use crate::engine::ids::{BuildId, RunId};
use crate::engine::run::Status;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{BudgetSpan, Code, Fault, Kind};
use crate::policy::{Amount, BudgetLimits};
use crate::time::{Span, Time};

const DAY: Span = Span::from_hours(24);

fn next_day(budget: &BudgetLimits, now: Time) -> Time {
    let number = budget.day_number(now) + 1;
    Time::from_millis(number.saturating_mul(DAY.as_millis())) + budget.day_starts_ms
}

pub(super) fn handle_spent_budget(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
) -> Option<RunMove> {
    let (span, needed) = match &fault.kind {
        Kind::BudgetExhausted(context) => (context.span, context.needed),
        _ => (BudgetSpan::Task, Amount::ZERO),
    };
    match span {
        BudgetSpan::Task => {
            let why = Why::with_code(Rule::BudgetSpent, fault.code());
            ask_about_fault(turn, run, fault, why);
            None
        }
        BudgetSpan::Day if needed.exceeded_unit(turn.policy.budget.per_day).is_none() => {
            let until = next_day(&turn.policy.budget, turn.now);
            hold_build_and_pause(turn, run, |turn, build| {
                let fault = Some(Arc::clone(fault));
                let sleeps = Event::Sleeping { build, until, fault };
                let why = Why::with_code(Rule::SleepUntilNextWindow, Code::BudgetExhausted);
                hold_build(turn, build, sleeps, why);
            })
        }
        // A day that could never pay for the call would be slept through forever.
        BudgetSpan::Build | BudgetSpan::Day => {
            hold_build_and_pause(turn, run, |turn, build| pause_for_budget(turn, build, fault))
        }
    }
}

/// Holds the whole build, unless it is on hold already, and pauses the run.
fn hold_build_and_pause(
    turn: &mut Transition<'_>,
    run: RunId,
    hold: impl FnOnce(&mut Transition<'_>, BuildId),
) -> Option<RunMove> {
    let step = turn.known_run(run)?.position().to_resumed().step;
    let build = turn.task_of_run(run)?.build;
    if turn.build_state(build).is_some_and(BuildState::allows_work) {
        hold(turn, build);
    }
    match turn.known_run(run)?.status {
        Status::Active => {
            turn.pause_run(run, Status::PausedApproval, step, Some(Code::BudgetExhausted));
            None
        }
        // The run was paused over an action; it waits for a slot once the build continues.
        Status::PausedReconciliation => Some(RunMove::To(step)),
        _ => None,
    }
}

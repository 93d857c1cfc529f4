//! Reactions to faults. The code, the kind of work, the policy and the counters decide; no reaction
//! reads a message.

mod budget;
mod gate;
mod park;
mod repeat;
mod replan;

use std::sync::Arc;

pub(super) use park::{ParkRequest, ask_about_action, park_with_question};
pub(super) use repeat::{
    give_way_to_next_firing, is_asked_to_wait, is_only_waiting, repeat_or_ask,
};
pub(super) use replan::{is_proposal_only, propose_repair, retry_or_ask};

use super::end::{end_build, finish_task, skip_dependants};
use super::event::Event;
use super::ids::RunId;
use super::run::{Status, Step};
use super::transition::Transition;
use super::why::{Rule, Why};
use crate::attempt::Approach;
use crate::fault::{Class, Code, Fault, Reaction};

/// The move with which a run continues at once after the reaction to its fault.
pub(super) enum RunMove {
    /// The run continues with the step.
    To(Step),
    /// The run continues after the step, although the step failed.
    Past(Step),
}

/// Records the fault and charges its counters.
pub(super) fn record_fault(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
    ends: bool,
) {
    let Some(task) = turn.known_run(run).map(|run| run.task) else { return };
    let passing = is_waited_out(turn, fault.code());
    let fault = Arc::clone(fault);
    if ends {
        turn.mark_cut_short(run);
    }
    turn.emit_event(Event::FaultMet { task, run, fault, approach, ends, passing });
}

/// Returns whether the policy waits out an exhausted quota of a tool.
fn is_waited_out(turn: &Transition<'_>, code: Code) -> bool {
    code == Code::ToolQuota && turn.policy.wait.tool_quota_waits
}

/// Performs the reaction that the fault's code calls for, and returns the move with which the run
/// continues, unless it is paused or has ended. The fault has been charged, and no action is open.
#[must_use]
pub(super) fn react_to_fault(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
) -> Option<RunMove> {
    let task = turn.task_of_run(run)?;
    let code = fault.code();
    let reaction =
        if is_waited_out(turn, code) { Reaction::Backoff } else { fault.reaction(task.work()) };
    match reaction {
        Reaction::RetryOnceAsk | Reaction::RetryOnceWarn | Reaction::RetryOnceWarnAsk => {
            return repeat::retry_once(turn, run, fault, reaction);
        }
        Reaction::Budget => return budget::handle_spent_budget(turn, run, fault),
        Reaction::TakeBackSkip => return Some(RunMove::To(Step::TakeBack)),
        Reaction::Backoff | Reaction::BackoffThenGate => repeat::back_off(turn, run, fault),
        Reaction::Gate | Reaction::GateUntilReset => gate::wait_at_gate(turn, run, fault),
        Reaction::Compact => replan::compact_conversation(turn, run, fault),
        Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan => {
            replan::replan_or_ask(turn, run, fault);
        }
        Reaction::Repair => replan::repair_or_ask(turn, run, fault),
        Reaction::Ask | Reaction::TellOperator => ask_at_once(turn, run, fault),
        Reaction::Quarantine => quarantine_worktree(turn, run, fault),
        Reaction::Fail => fail_task(turn, run, fault),
    }
    None
}

fn ask_at_once(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    debug_assert!(fault.class() == Class::NeverRetry || fault.expired_certificate().is_some());
    park::ask_about_fault(turn, run, fault, Why::with_code(Rule::NeverRetried, fault.code()));
}

/// Asks the operator about a quarantined worktree; the answer leads to a new one. The user's own
/// tree cannot be quarantined, so there the build fails.
fn quarantine_worktree(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(build) = turn.task_of_run(run).map(|task| task.build) else { return };
    if turn.known_build(build).is_some_and(|build| build.in_place) {
        let why = Why::with_code(Rule::NeverRetried, fault.code());
        turn.end_run(run, Status::FailedInternal, fault.code());
        end_build(turn, build, Event::BuildFailed { build, fault: Arc::clone(fault) }, why);
    } else {
        ask_at_once(turn, run, fault);
    }
}

/// Fails the task at once, because its settings cannot work, and skips the tasks that need it.
fn fail_task(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.known_run(run).map(|run| run.task) else { return };
    turn.end_run(run, Status::FailedConfig, fault.code());
    finish_task(turn, Event::TaskFailed { task, code: fault.code() }, task);
    skip_dependants(turn, task);
}

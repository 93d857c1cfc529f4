//! Reactions to faults. The code, the kind of work, the policy and the counters decide; no reaction
//! reads a message.

mod ask;
mod backoff;
mod budget;
mod compact;
mod firing;
mod gate;
mod once;
mod propose;
mod replan;

use std::sync::Arc;

pub(super) use ask::{ParkRequest, ask_about_action, ask_about_build, park_with_question};
pub(super) use backoff::repeat_or_ask;
pub(super) use budget::day_number;
pub(super) use firing::{give_way_to_next_firing, is_only_waiting, withdraw_job_question};
pub(super) use propose::propose_repair;
pub(super) use replan::is_proposal_only;

use super::event::Event;
use super::flow;
use super::ids::{RunId, TaskId};
use super::run::{Next, Status, Step};
use super::task::TaskState;
use super::turn::Transition;
use super::why::{Rule, Why};
use crate::attempt::Approach;
use crate::fault::{Class, Code, Fault, Reaction};

/// Handles the failure of a run's step. Open actions in the ledger come first, whatever the code
/// says.
pub(super) fn handle_failure(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    let approach = approach.or_else(|| checked_approach(turn, task, fault));
    record_fault(turn, run, fault, approach, true);
    if flow::count_open_mutations(turn, task) > 0 {
        flow::reconcile_run(turn, task, run, Some(Arc::clone(fault)), Next::EXECUTE);
    } else if has_build_ended(turn, run) {
        turn.cancel_run(run);
        flow::cancel_task(turn, task);
    } else {
        react_to_fault(turn, run, fault);
    }
}

/// Returns the agent's approach that turned out to be wrong. An outage says nothing about it.
fn checked_approach(turn: &Transition<'_>, task: TaskId, fault: &Fault) -> Option<Arc<Approach>> {
    let approach = turn.state.task(task)?.approach.clone();
    approach.filter(|_| fault.class() == Class::CodeError)
}

/// Handles a fault inside a running attempt that another approach may get past: the agent is told
/// of it and continues, until its tries are used up.
pub(super) fn retry_or_ask(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    match replan::tries_used_up(turn, run, fault) {
        Some(why) => ask::ask_about_fault(turn, run, fault, why),
        None => replan::record_retry(turn, run, fault),
    }
}

/// Records the fault and charges its counters.
pub(super) fn record_fault(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
    ends: bool,
) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
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

fn has_build_ended(turn: &Transition<'_>, run: RunId) -> bool {
    turn.state
        .run(run)
        .and_then(|run| turn.state.task(run.task))
        .and_then(|task| turn.state.build(task.build))
        .is_some_and(|build| build.state.has_ended())
}

/// Performs the reaction that the fault's code calls for. The fault has been charged, and no action
/// is open.
pub(super) fn react_to_fault(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let code = fault.code();
    let reaction =
        if is_waited_out(turn, code) { Reaction::Backoff } else { code.reaction(task.work()) };
    match reaction {
        Reaction::Backoff | Reaction::BackoffThenGate => backoff::back_off(turn, run, fault),
        Reaction::Gate | Reaction::GateUntilReset => gate::wait_at_gate(turn, run, fault),
        Reaction::Compact => compact::compact_conversation(turn, run, fault),
        Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan => {
            replan::replan_or_ask(turn, run, fault);
        }
        Reaction::Repair => replan::repair_or_ask(turn, run, fault),
        Reaction::RetryOnceAsk | Reaction::RetryOnceWarn | Reaction::RetryOnceWarnAsk => {
            once::retry_once(turn, run, fault, reaction);
        }
        Reaction::Ask | Reaction::TellOperator => ask_at_once(turn, run, fault),
        Reaction::Quarantine => quarantine_worktree(turn, run, fault),
        Reaction::Budget => budget::handle_spent_budget(turn, run, fault),
        Reaction::TakeBackSkip => resume_at_step(turn, run, Step::TakeBack),
        Reaction::Fail => fail_task(turn, run, fault),
    }
}

/// Continues the run with `step`. A run that was paused over an action waits for a slot first.
pub(super) fn resume_at_step(turn: &mut Transition<'_>, id: RunId, step: Step) {
    let Some(run) = turn.state.run(id) else { return };
    let task = run.task;
    let phase = run.phase;
    match turn.state.task(task).map(|task| &task.state) {
        Some(TaskState::Reconciling { .. }) => {
            let next = Next { phase, step }.to_resumed();
            let ready = Event::TaskReady { task, run: Some(id), next };
            turn.emit_with_reason(ready, Why::from_rule(Rule::WaitOver));
        }
        _ => flow::move_to_step(turn, id, step),
    }
}

/// Ends or pauses the run, as its fault's type says. Returns the run if it is paused, because it
/// continues after the answer.
pub(super) fn pause_or_end_run(
    turn: &mut Transition<'_>,
    run: RunId,
    fault: &Fault,
) -> Option<RunId> {
    let status = Status::from(fault.error_type().run_status());
    if status == Status::PausedApproval {
        let step = turn.state.run(run)?.position().to_resumed().step;
        turn.pause_run(run, status, step, Some(fault.code()));
        Some(run)
    } else {
        turn.end_run(run, status, fault.code());
        None
    }
}

fn ask_at_once(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    debug_assert_eq!(fault.class(), Class::NeverRetry);
    ask::ask_about_fault(turn, run, fault, Why::with_code(Rule::NeverRetried, fault.code()));
}

/// Asks the operator about a quarantined worktree; the answer leads to a new one. The user's own
/// tree cannot be quarantined, so there the build fails.
fn quarantine_worktree(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(build) =
        turn.state.run(run).and_then(|run| turn.state.task(run.task)).map(|t| t.build)
    else {
        return;
    };
    if turn.state.build(build).is_some_and(|build| build.in_place) {
        let why = Why::with_code(Rule::NeverRetried, fault.code());
        turn.end_run(run, Status::FailedInternal, fault.code());
        flow::end_build(turn, build, Event::BuildFailed { build, fault: Arc::clone(fault) }, why);
    } else {
        ask_at_once(turn, run, fault);
    }
}

/// Fails the task at once, because its settings cannot work, and skips the tasks that need it.
fn fail_task(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    turn.end_run(run, Status::FailedConfig, fault.code());
    flow::finish_task(turn, Event::TaskFailed { task, code: fault.code() }, task);
    flow::skip_dependants(turn, task);
}

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

pub(super) use ask::{Ask, ask, ask_about_action, ask_about_build};
pub(super) use backoff::repeat_or_ask;
pub(super) use budget::day_number;
pub(super) use firing::{let_next_try, only_waits, withdraw_question};
pub(super) use propose::propose_repair;
pub(super) use replan::proposes_only;

use super::event::Event;
use super::flow;
use super::ids::{RunId, TaskId};
use super::run::{Next, Status, Step};
use super::task::TaskState;
use super::turn::Turn;
use super::why::{Rule, Why};
use crate::attempt::Approach;
use crate::fault::{Class, Code, Fault, Reaction};

/// Handles the failure of a run's step. Open actions in the ledger come first, whatever the code
/// says.
pub(super) fn fail(
    turn: &mut Turn<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    let approach = approach.or_else(|| checked_approach(turn, task, fault));
    meet(turn, run, fault, approach, true);
    if flow::open_mutations(turn, task) > 0 {
        flow::reconcile(turn, task, run, Some(Arc::clone(fault)), Next::EXECUTE);
    } else if ended(turn, run) {
        turn.cancel_run(run);
        flow::cancel_task(turn, task);
    } else {
        react(turn, run, fault);
    }
}

/// Returns the agent's approach that turned out to be wrong. An outage says nothing about it.
fn checked_approach(turn: &Turn<'_>, task: TaskId, fault: &Fault) -> Option<Arc<Approach>> {
    let approach = turn.state.task(task)?.approach.clone();
    approach.filter(|_| fault.class() == Class::CodeError)
}

/// Handles a fault inside a running attempt that another approach may get past: the agent is told
/// of it and continues, until its tries are used up.
pub(super) fn another_way(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    match replan::tries_used_up(turn, run, fault) {
        Some(why) => ask::ask_after(turn, run, fault, why),
        None => replan::retrying(turn, run, fault),
    }
}

/// Records the fault and charges its counters.
pub(super) fn meet(
    turn: &mut Turn<'_>,
    run: RunId,
    fault: &Arc<Fault>,
    approach: Option<Arc<Approach>>,
    ends: bool,
) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    let passing = is_waited_out(turn, fault.code());
    let fault = Arc::clone(fault);
    if ends {
        turn.cut_short(run);
    }
    turn.emit(Event::FaultMet { task, run, fault, approach, ends, passing });
}

/// Returns whether the policy waits out an exhausted quota of a tool.
fn is_waited_out(turn: &Turn<'_>, code: Code) -> bool {
    code == Code::ToolQuota && turn.policy.wait.tool_quota_waits
}

fn ended(turn: &Turn<'_>, run: RunId) -> bool {
    turn.state
        .run(run)
        .and_then(|run| turn.state.task(run.task))
        .and_then(|task| turn.state.build(task.build))
        .is_some_and(|build| build.state.has_ended())
}

/// Performs the reaction that the fault's code calls for. The fault has been charged, and no action
/// is open.
pub(super) fn react(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let code = fault.code();
    let reaction =
        if is_waited_out(turn, code) { Reaction::Backoff } else { code.reaction(task.work()) };
    match reaction {
        Reaction::Backoff | Reaction::BackoffThenGate => backoff::back_off(turn, run, fault),
        Reaction::Gate | Reaction::GateUntilReset => gate::wait(turn, run, fault),
        Reaction::Compact => compact::compact(turn, run, fault),
        Reaction::Replan | Reaction::ReplanHarder | Reaction::TakeBackReplan => {
            replan::replan(turn, run, fault);
        }
        Reaction::Repair => replan::repair(turn, run, fault),
        Reaction::RetryOnceAsk | Reaction::RetryOnceWarn | Reaction::RetryOnceWarnAsk => {
            once::retry_once(turn, run, fault, reaction);
        }
        Reaction::Ask | Reaction::TellOperator => never_retried(turn, run, fault),
        Reaction::Quarantine => quarantine(turn, run, fault),
        Reaction::Budget => budget::spent(turn, run, fault),
        Reaction::TakeBackSkip => take_up(turn, run, Step::TakeBack),
        Reaction::Fail => fail_task(turn, run, fault),
    }
}

/// Continues the run with `step`. A run that was paused over an action waits for a slot first.
pub(super) fn take_up(turn: &mut Turn<'_>, id: RunId, step: Step) {
    let Some(run) = turn.state.run(id) else { return };
    let task = run.task;
    let phase = run.phase;
    match turn.state.task(task).map(|task| &task.state) {
        Some(TaskState::Reconciling { .. }) => {
            let next = Next { phase, step }.resumed();
            let ready = Event::TaskReady { task, run: Some(id), next };
            turn.decide(ready, Why::rule(Rule::WaitOver));
        }
        _ => flow::go(turn, id, step),
    }
}

/// Ends or pauses the run, as its fault's type says. Returns the run if it is paused, because it
/// continues after the answer.
pub(super) fn stand_still(turn: &mut Turn<'_>, run: RunId, fault: &Fault) -> Option<RunId> {
    let status = Status::from(fault.error_type().run_status());
    if status == Status::PausedApproval {
        let step = turn.state.run(run)?.place().resumed().step;
        turn.pause_run(run, status, step, Some(fault.code()));
        Some(run)
    } else {
        turn.end_run(run, status, fault.code());
        None
    }
}

fn never_retried(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    debug_assert_eq!(fault.class(), Class::NeverRetry);
    ask::ask_after(turn, run, fault, Why::code(Rule::NeverRetried, fault.code()));
}

/// Asks the operator about a quarantined worktree; the answer leads to a new one. The user's own
/// tree cannot be quarantined, so there the build fails.
fn quarantine(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(build) =
        turn.state.run(run).and_then(|run| turn.state.task(run.task)).map(|t| t.build)
    else {
        return;
    };
    if turn.state.build(build).is_some_and(|build| build.in_place) {
        let why = Why::code(Rule::NeverRetried, fault.code());
        turn.end_run(run, Status::FailedInternal, fault.code());
        flow::end_build(turn, build, Event::BuildFailed { build, fault: Arc::clone(fault) }, why);
    } else {
        never_retried(turn, run, fault);
    }
}

/// Fails the task at once, because its settings cannot work, and skips the tasks that need it.
fn fail_task(turn: &mut Turn<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.state.run(run).map(|run| run.task) else { return };
    turn.end_run(run, Status::FailedConfig, fault.code());
    flow::finish(turn, Event::TaskFailed { task, code: fault.code() }, task);
    flow::skip_dependants(turn, task);
}

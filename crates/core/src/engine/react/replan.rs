//! Reacts to faults that do not pass by themselves: with another approach, a shorter conversation or
//! a repair, a limited number of times, then with a question. A repair that is only proposed is a
//! question at once.

use std::sync::Arc;

use super::park::{ParkRequest, ask_about_fault, park_with_question};
use super::record_fault;
use crate::engine::end::cancel_task;
use crate::engine::event::Event;
use crate::engine::ids::RunId;
use crate::engine::ledger::{Mutation, MutationState};
use crate::engine::question::Subject;
use crate::engine::run::{Next, Phase, Run, Start, Status, Step};
use crate::engine::task::Task;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Charge, Fault, Input};
use crate::question::QuestionKind;
use crate::signature::Signature;

pub(super) fn replan_or_ask(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    match tries_used_up(turn, run, fault) {
        Some(why) => ask_about_fault(turn, run, fault, why),
        None => try_another_way(turn, run, fault),
    }
}

fn try_another_way(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some((task, place)) = turn.known_run(run).map(|run| (run.task, run.position())) else {
        return;
    };
    record_retry(turn, run, fault);
    let count = turn.state.signatures().count(fault.signature);
    // A red check is often one line away from green: the first failure keeps the worktree.
    let fresh = count >= turn.policy.retry.fresh_start_at;
    let start = if fresh { Start::FromBase } else { Start::KeepTree };
    let next = if place.step == Step::TakeBack { place } else { Next::at_attempt(start) };
    turn.end_run(run, Status::FailedLogic, fault.code());
    turn.emit_event(Event::TaskReady { task, run: None, next });
}

/// Handles a fault inside a running attempt that another approach may get past: the agent is told
/// of it and continues, until its tries are used up.
pub(in crate::engine) fn retry_or_ask(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    match tries_used_up(turn, run, fault) {
        Some(why) => ask_about_fault(turn, run, fault, why),
        None => record_retry(turn, run, fault),
    }
}

/// Records the number of the current try and the reason for another one.
fn record_retry(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.task_of_run(run) else { return };
    let signature = fault.signature;
    let code = fault.code();
    let attempt = count_tries(turn, task, signature);
    let limits = turn.policy.limits_for(code, &task.spec.overrides);
    let why = Why::with_code(Rule::AnotherApproach, code)
        .with_count(Charge::Signature, attempt, limits.per_signature)
        .with_count(Charge::Consecutive, task.counters.consecutive, limits.consecutive);
    let (approach, _) = task.setbacks.next_approach(attempt);
    let of = limits.per_signature;
    let task = task.id;
    turn.emit_with_reason(
        Event::Retrying { task, run, signature, attempt, code, approach, of },
        why,
    );
}

/// Returns the number of tries of the error, including the current one. An answer may have reset
/// the count while the outcome of an action was probed; the failure that waited for it counts anew.
fn count_tries(turn: &Transition<'_>, task: &Task, signature: Signature) -> u32 {
    let counted = task.has_charged(turn.state.signatures(), signature);
    turn.state.signatures().count(signature) + u32::from(!counted)
}

/// Returns the reason why there is no further try, if there is none.
fn tries_used_up(turn: &Transition<'_>, run: RunId, fault: &Fault) -> Option<Why> {
    let task = turn.task_of_run(run)?;
    let signature = fault.signature;
    let code = fault.code();
    let limits = turn.policy.limits_for(code, &task.spec.overrides);
    let count = count_tries(turn, task, signature);
    let asked_already = turn.state.question_about(Subject::Error(signature)).is_some();
    if count > limits.per_signature || asked_already {
        let why = Why::with_code(Rule::TriesUsedUp, code);
        Some(why.with_count(Charge::Signature, count, limits.per_signature))
    } else if task.counters.consecutive > limits.consecutive {
        let why = Why::with_code(Rule::TooManyInARow, code);
        Some(why.with_count(Charge::Consecutive, task.counters.consecutive, limits.consecutive))
    } else {
        None
    }
}

/// Compacts a conversation that no longer fits, up to a limit; then asks the operator.
pub(super) fn compact_conversation(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(next) = turn.known_run(run).map(|run| run.position().to_resumed()) else { return };
    let Some(task) = turn.task_of_run(run) else { return };
    let id = task.id;
    let count = task.counters.compactions;
    let limit = turn.policy.retry.compactions;
    let counted =
        |rule| Why::with_code(rule, fault.code()).with_count(Charge::Compaction, count, limit);
    if count > limit {
        ask_about_fault(turn, run, fault, counted(Rule::TriesUsedUp));
        return;
    }
    let next = match next.step {
        Step::Attempt { .. } => Next::at_attempt(Start::Compacted),
        _ => next,
    };
    turn.end_run(run, Status::FailedLogic, fault.code());
    let ready = Event::TaskReady { task: id, run: None, next };
    turn.emit_with_reason(ready, counted(Rule::ConversationShortened));
}

/// Lets an agent repair a job's script, which then runs again; asks the operator once the repairs
/// are used up.
pub(super) fn repair_or_ask(turn: &mut Transition<'_>, run: RunId, fault: &Arc<Fault>) {
    let Some(task) = turn.task_of_run(run) else { return };
    let limit = turn.policy.limits_for(fault.code(), &task.spec.overrides).repairs;
    let id = task.id;
    let count = task.counters.repairs;
    let propose = is_proposal_only(turn, task);
    let counted =
        |rule| Why::with_code(rule, fault.code()).with_count(Charge::Repair, count, limit);
    if count > limit {
        ask_about_fault(turn, run, fault, counted(Rule::RepairBudgetExhausted));
        return;
    }
    let rule = if propose { Rule::ProposeOnly } else { Rule::RepairScript };
    let next = match turn.known_run(run).map(Run::position) {
        Some(place) if place.step == Step::TakeBack => place,
        _ => Next { phase: Phase::Preparing, step: Step::Repair { propose } },
    };
    turn.end_run(run, Status::FailedLogic, fault.code());
    turn.emit_with_reason(Event::TaskReady { task: id, run: None, next }, counted(rule));
}

/// Returns whether a repair is only proposed. After an action of this firing was applied or left
/// out, a changed script might do the rest differently, or do it again.
pub(in crate::engine) fn is_proposal_only(turn: &Transition<'_>, task: &Task) -> bool {
    let Some(job) = task.spec.job else { return false };
    job.propose_only || has_acted(turn, task) && !job.repair_after_mutation
}

/// Returns whether an action of this firing was applied or left out.
fn has_acted(turn: &Transition<'_>, task: &Task) -> bool {
    let is_settled = |mutation: &Mutation| {
        matches!(mutation.state, MutationState::Applied { .. } | MutationState::Skipped)
    };
    task.ledger.iter().any(|id| turn.state.mutation(*id).is_some_and(is_settled))
}

/// Returns why a repair waits on a branch, as a sentence after a space; nothing if the settings only
/// let repairs be proposed.
fn explain_proposal(turn: &Transition<'_>, task: &Task) -> &'static str {
    match task.spec.job {
        Some(job) if job.propose_only => "",
        _ if is_proposal_only(turn, task) => {
            " It is not applied because the script has already asked for an action that cannot be \
             undone, and a changed script may do the rest differently."
        }
        _ => {
            " It is not applied because you have changes of your own in the same files, or your \
             branch has moved: commit or stash them before you merge."
        }
    }
}

/// Asks the operator about a repair that waits on `branch`. The script runs again once the operator
/// says that the repair was taken over.
pub(in crate::engine) fn propose_repair(turn: &mut Transition<'_>, run: RunId, branch: &str) {
    let Some(task) = turn.task_of_run(run) else { return };
    let source = format!("repair:{}", task.spec.name);
    let message = format!(
        "A repair is ready on the branch {branch}.{} Take it over, for example with \
         `git merge {branch}`, and then choose \u{201c}I have fixed it, try again\u{201d}.",
        explain_proposal(turn, task)
    );
    let (task, build) = (task.id, task.build);
    let fault = Fault::precondition_input(source, message, Input::default());
    let fault = Arc::new(Fault::with_cause(fault, branch));
    record_fault(turn, run, &fault, None, true);
    if turn.has_build_ended(build) {
        turn.cancel_run(run);
        cancel_task(turn, task);
        return;
    }
    turn.pause_run(run, Status::PausedApproval, Step::Execute, Some(fault.code()));
    let why = Why::with_code(Rule::RepairProposed, fault.code());
    let subject = Subject::Error(fault.signature);
    let kind = QuestionKind::Hands;
    let next = Next::EXECUTE;
    park_with_question(
        turn,
        ParkRequest { task, run: Some(run), next, subject, kind, fault: Some(&fault), why },
    );
}

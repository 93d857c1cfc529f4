//! Handles `Settle`: an effect ended.

use std::sync::Arc;

use super::progress::{TIME, overspent_fault, record_spending, spent_time_fault};
use super::settle_action;
use crate::attempt::Approach;
use crate::engine::command::CommandRejection;
use crate::engine::end::skip_task;
use crate::engine::event::Event;
use crate::engine::flow::{self, handle_failure};
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::ledger::{Mutation, MutationState};
use crate::engine::react::propose_repair;
use crate::engine::report::EffectOutcome;
use crate::engine::run::{Next, Phase, Start, Step};
use crate::engine::state::EffectWaiter;
use crate::engine::task::SkipReason;
use crate::engine::transition::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Category, Class, Code, Fault, Kind, Repeated};
use crate::policy::Amount;
use crate::signature::Signature;

/// The exit code of `unstuck mutate` for an action that is not to be performed.
const ACTION_REFUSED: i32 = 121;

pub(super) fn handle_settle(
    turn: &mut Transition<'_>,
    effect: EffectId,
    outcome: EffectOutcome,
    spent: Amount,
) -> Result<(), CommandRejection> {
    turn.mark_settled(effect);
    match turn.state.owed.get(&effect).copied() {
        Some(EffectWaiter::Run(run)) => settle_run(turn, effect, run, outcome, spent),
        Some(EffectWaiter::Mutation(mutation)) => {
            settle_action::handle_settle_action(turn, effect, mutation, outcome)
        }
        None => Err(CommandRejection::Stale(effect)),
    }
}

fn settle_run(
    turn: &mut Transition<'_>,
    effect: EffectId,
    id: RunId,
    outcome: EffectOutcome,
    spent: Amount,
) -> Result<(), CommandRejection> {
    let run = turn.state.run(id).ok_or(CommandRejection::Stale(effect))?;
    let task = run.task;
    let step = run.step;
    let phase = run.phase;
    match (outcome, step) {
        (EffectOutcome::Attempted { approach }, Step::Attempt { .. }) => {
            record_spending(turn, id, spent);
            turn.emit_event(Event::StepDone { run: id });
            flow::record_successful_call(turn, task);
            handle_attempted(turn, id, step, approach);
        }
        // A repair that was to be proposed is never in use.
        (EffectOutcome::Repaired { approach, branch }, Step::Repair { propose })
            if branch.is_some() || !propose =>
        {
            record_spending(turn, id, spent);
            turn.emit_event(Event::StepDone { run: id });
            flow::record_successful_call(turn, task);
            turn.emit_event(Event::ApproachTaken { run: id, approach, confirms: None });
            match branch {
                Some(branch) => propose_repair(turn, id, &branch),
                None => flow::finish_step(turn, id, step),
            }
        }
        // The script continued after an action that its phase does not allow.
        (EffectOutcome::Done, Step::Execute) if phase_violation(turn, id).is_some() => {
            record_spending(turn, id, spent);
            if let Some(fault) = phase_violation(turn, id) {
                handle_failure(turn, id, &fault, None);
            }
        }
        (EffectOutcome::Done, Step::Execute) if turn.state.has_open_action(task) => {
            record_spending(turn, id, spent);
            turn.emit_event(Event::StepDone { run: id });
            let next = Next { phase: phase.max(Phase::Emitting), step: Step::Emit };
            flow::reconcile_run(turn, task, id, None, next);
        }
        (
            EffectOutcome::Done,
            // For a repair: there was nothing to repair, or no agent that could, and the operator
            // said to continue.
            Step::Check
            | Step::Commit
            | Step::Emit
            | Step::Execute
            | Step::Repair { .. }
            | Step::TakeBack,
        ) => {
            record_spending(turn, id, spent);
            turn.emit_event(Event::StepDone { run: id });
            flow::finish_step(turn, id, step);
        }
        (EffectOutcome::Failed { fault, .. }, Step::Execute)
            if leaves_out_action(turn, task, &fault) =>
        {
            record_spending(turn, id, spent);
            turn.cancel_run(id);
            skip_task(turn, task, SkipReason::Decided);
        }
        (EffectOutcome::Failed { fault, approach }, _) => {
            record_spending(turn, id, spent);
            if step.needs_gate() && proves_account_works(&fault) {
                flow::record_successful_call(turn, task);
            }
            // The script itself knows best why it fails.
            let blamed = turn.known_run(id).and_then(|run| run.blamed.clone());
            let fault = match blamed {
                Some(blamed) => Arc::new(blamed.with_end_of(&fault)),
                None => exhausted_budget_fault(turn, task, &fault).unwrap_or(fault),
            };
            handle_failure(turn, id, &fault, approach);
        }
        _ => return Err(CommandRejection::Misfit(effect)),
    }
    Ok(())
}

/// Returns the fault that names the exhausted budget, if an agent program ended for lack of money:
/// the program was told how much is left, but not of which budget.
fn exhausted_budget_fault(
    turn: &Transition<'_>,
    task: TaskId,
    fault: &Fault,
) -> Option<Arc<Fault>> {
    let Kind::BudgetExhausted(of) = &fault.kind else { return None };
    let by_time = || spent_time_fault(turn, task).filter(|_| of.unit == TIME);
    overspent_fault(turn, task).or_else(by_time).map(Arc::new)
}

/// Returns the violation, if the script requested an action in a phase that must not act.
fn phase_violation(turn: &Transition<'_>, run: RunId) -> Option<Arc<Fault>> {
    let blamed = turn.known_run(run)?.blamed.clone()?;
    (blamed.code() == Code::LogicPhaseViolation).then_some(blamed)
}

/// Returns whether a script only passed on that a person left its action out. Such a script is not
/// broken.
fn leaves_out_action(turn: &Transition<'_>, task: TaskId, fault: &Fault) -> bool {
    let is_left_out =
        |known: &Mutation| known.task == task && known.state == MutationState::Skipped;
    fault.exit_code() == Some(ACTION_REFUSED) && turn.state.mutations().any(is_left_out)
}

/// Returns whether a fault can only follow an answer of the account, because it is about what a
/// model did with its answers. A missing login, a git lock or a missing program prove nothing.
fn proves_account_works(fault: &Fault) -> bool {
    fault.category() == Category::Logic
}

/// Handles an agent's statement that it is done. An approach that already failed with the current
/// error is checked at most once more, in case the check is unreliable; after that nothing is spent
/// on it.
fn handle_attempted(turn: &mut Transition<'_>, run: RunId, step: Step, approach: Arc<Approach>) {
    if needs_nudge(turn, run, &approach) {
        turn.emit_with_reason(Event::Nudged { run }, Why::from_rule(Rule::NothingChanged));
        flow::move_to_step(turn, run, Step::Attempt { start: Start::Resume });
        return;
    }
    let repeats = find_repeated_approach(turn, run, &approach);
    match repeats {
        Some((signature, _, false)) => {
            let taken = Event::ApproachTaken { run, approach, confirms: Some(signature) };
            turn.emit_with_reason(taken, Why::from_rule(Rule::ConfirmOnce));
            flow::finish_step(turn, run, step);
        }
        Some((signature, attempt, true)) => {
            let context = Repeated { of: Some(signature), attempt };
            let message = format!("the approach of attempt {attempt} was tried again");
            let fault = Fault::logic_repeated_approach("approach", message, context);
            turn.emit_with_reason(
                Event::ApproachTaken { run, approach, confirms: None },
                Why::with_code(Rule::ApproachRepeated, Code::LogicRepeatedApproach),
            );
            handle_failure(turn, run, &Arc::new(fault), None);
        }
        None => {
            turn.emit_event(Event::ApproachTaken { run, approach, confirms: None });
            flow::finish_step(turn, run, step);
        }
    }
}

/// Returns whether an agent that ended without a change is asked to do the work or to explain why
/// none is needed: once, and not if the work is an action that it declared.
fn needs_nudge(turn: &Transition<'_>, run: RunId, approach: &Approach) -> bool {
    approach.files_changed == 0
        && turn.task_of_run(run).is_some_and(|task| {
            !task.is_session() && task.nudged.is_none() && task.declared.is_empty()
        })
}

/// Returns the error and the attempt that this approach repeats, and whether it was checked once
/// more already.
fn find_repeated_approach(
    turn: &Transition<'_>,
    run: RunId,
    approach: &Approach,
) -> Option<(Signature, u32, bool)> {
    let task = turn.task_of_run(run)?;
    let signature = task.retrying?;
    let digest = approach.digest?;
    let (attempt, failed) = turn.state.signatures().failed_before(signature, digest)?;
    debug_assert_eq!(failed.tried.code.row().class, Class::CodeError);
    Some((signature, attempt, failed.confirmed))
}

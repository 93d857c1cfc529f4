//! Handles `Settle`: an effect ended.

use std::sync::Arc;

use super::reserve::overspent;
use super::settle_action;
use crate::attempt::Approach;
use crate::engine::command::{Outcome, Rejected};
use crate::engine::effect::Start;
use crate::engine::event::Event;
use crate::engine::flow;
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::react::{day_number, fail, propose_repair};
use crate::engine::run::{Next, Phase, Step};
use crate::engine::state::Owner;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};
use crate::fault::{Category, Class, Code, Fault, Repeated};
use crate::policy::Amount;
use crate::signature::Signature;

pub(super) fn on(
    turn: &mut Turn<'_>,
    effect: EffectId,
    outcome: Outcome,
    spent: Amount,
) -> Result<(), Rejected> {
    turn.settle(effect);
    match turn.state.owed.get(&effect).copied() {
        Some(Owner::Run(run)) => settle_run(turn, effect, run, outcome, spent),
        Some(Owner::Mutation(mutation)) => settle_action::on(turn, effect, mutation, outcome),
        None => Err(Rejected::Stale(effect)),
    }
}

fn settle_run(
    turn: &mut Turn<'_>,
    effect: EffectId,
    id: RunId,
    outcome: Outcome,
    spent: Amount,
) -> Result<(), Rejected> {
    let run = turn.state.run(id).ok_or(Rejected::Stale(effect))?;
    let task = run.task;
    let step = run.step;
    let phase = run.phase;
    match (outcome, step) {
        (Outcome::Attempted { approach }, Step::Attempt { .. }) => {
            pay(turn, id, spent);
            turn.emit(Event::StepDone { run: id });
            flow::call_succeeded(turn, task);
            attempted(turn, id, approach);
        }
        // A repair that was to be proposed is never in use.
        (Outcome::Repaired { approach, branch }, Step::Repair { propose })
            if branch.is_some() || !propose =>
        {
            pay(turn, id, spent);
            turn.emit(Event::StepDone { run: id });
            flow::call_succeeded(turn, task);
            turn.emit(Event::ApproachTaken { run: id, approach, confirms: None });
            match branch {
                Some(branch) => propose_repair(turn, id, &branch),
                None => flow::step_done(turn, id, step),
            }
        }
        // The script continued after an action that its phase does not allow.
        (Outcome::Done, Step::Execute) if violation(turn, id).is_some() => {
            pay(turn, id, spent);
            if let Some(fault) = violation(turn, id) {
                fail(turn, id, &fault, None);
            }
        }
        (Outcome::Done, Step::Execute) if flow::open_mutations(turn, task) > 0 => {
            pay(turn, id, spent);
            turn.emit(Event::StepDone { run: id });
            let next = Next { phase: phase.max(Phase::Emitting), step: Step::Emit };
            flow::reconcile(turn, task, id, None, next);
        }
        (
            Outcome::Done,
            // For a repair: there was nothing to repair, or no agent that could, and the operator
            // said to continue.
            Step::Check
            | Step::Commit
            | Step::Emit
            | Step::Execute
            | Step::Repair { .. }
            | Step::TakeBack,
        ) => {
            pay(turn, id, spent);
            turn.emit(Event::StepDone { run: id });
            flow::step_done(turn, id, step);
        }
        (Outcome::Failed { fault, approach }, _) => {
            pay(turn, id, spent);
            if step.needs_gate() && proves_the_account(&fault) {
                flow::call_succeeded(turn, task);
            }
            // The script itself knows best why it fails.
            let blamed = turn.state.run(id).and_then(|run| run.blamed.clone());
            let fault = budget(turn, task, &fault).unwrap_or(fault);
            fail(turn, id, &blamed.unwrap_or(fault), approach);
        }
        _ => return Err(Rejected::Misfit(effect)),
    }
    Ok(())
}

/// Returns the fault that names the exhausted budget, if an agent program ended for lack of money:
/// the program was told how much is left, but not of which budget.
fn budget(turn: &Turn<'_>, task: TaskId, fault: &Fault) -> Option<Arc<Fault>> {
    (fault.code() == Code::BudgetExhausted).then(|| overspent(turn, task).map(Arc::new)).flatten()
}

/// Returns the violation, if the script requested an action in a phase that must not act.
fn violation(turn: &Turn<'_>, run: RunId) -> Option<Arc<Fault>> {
    let blamed = turn.state.run(run)?.blamed.clone()?;
    (blamed.code() == Code::LogicPhaseViolation).then_some(blamed)
}

/// Returns whether a fault can only follow an answer of the account, because it is about what a
/// model did with its answers. A missing login, a git lock or a missing program prove nothing.
fn proves_the_account(fault: &Fault) -> bool {
    fault.category() == Category::Logic
}

/// Releases the run's reservation and records its cost as spent.
pub(super) fn pay(turn: &mut Turn<'_>, run: RunId, spent: Amount) {
    let Some((task, reserved)) = turn.state.run(run).map(|run| (run.task, run.reserved)) else {
        return;
    };
    if !spent.is_zero() || !reserved.is_zero() {
        let day = day_number(&turn.policy.budget, turn.now);
        let reserved = Amount::ZERO;
        turn.emit(Event::BudgetUpdated { task, run, spent, reserved, day, wind_down: false });
    }
}

/// Handles an agent's statement that it is done. An approach that already failed with the current
/// error is checked at most once more, in case the check is unreliable; after that nothing is spent
/// on it.
fn attempted(turn: &mut Turn<'_>, run: RunId, approach: Arc<Approach>) {
    if wants_a_word(turn, run, &approach) {
        turn.decide(Event::Nudged { run }, Why::rule(Rule::NothingChanged));
        flow::go(turn, run, Step::Attempt { start: Start::Resume });
        return;
    }
    let repeats = repeated(turn, run, &approach);
    match repeats {
        Some((signature, _, false)) => {
            let taken = Event::ApproachTaken { run, approach, confirms: Some(signature) };
            turn.decide(taken, Why::rule(Rule::ConfirmOnce));
            flow::step_done(turn, run, turn_step(turn, run));
        }
        Some((signature, attempt, true)) => {
            let context = Repeated { of: Some(signature), attempt };
            let message = format!("the approach of attempt {attempt} was tried again");
            let fault = Fault::logic_repeated_approach("approach", message, context);
            turn.decide(
                Event::ApproachTaken { run, approach, confirms: None },
                Why::code(Rule::ApproachRepeated, Code::LogicRepeatedApproach),
            );
            fail(turn, run, &Arc::new(fault), None);
        }
        None => {
            turn.emit(Event::ApproachTaken { run, approach, confirms: None });
            flow::step_done(turn, run, turn_step(turn, run));
        }
    }
}

/// Returns whether an agent that ended without a change is asked to do the work or to explain why
/// none is needed: once, and not if the work is an action that it declared.
fn wants_a_word(turn: &Turn<'_>, run: RunId, approach: &Approach) -> bool {
    let task = turn.state.run(run).and_then(|run| turn.state.task(run.task));
    approach.files_changed == 0
        && task.is_some_and(|task| {
            !task.is_session() && task.nudged.is_none() && task.declared.is_empty()
        })
}

fn turn_step(turn: &Turn<'_>, run: RunId) -> Step {
    turn.state.run(run).map_or(Step::Check, |run| run.step)
}

/// Returns the error and the attempt that this approach repeats, and whether it was checked once
/// more already.
fn repeated(turn: &Turn<'_>, run: RunId, approach: &Approach) -> Option<(Signature, u32, bool)> {
    let task = turn.state.task(turn.state.run(run)?.task)?;
    let signature = task.retrying?;
    let digest = approach.digest?;
    let (attempt, failed) = turn.state.signatures().failed_before(signature, digest)?;
    debug_assert_eq!(failed.tried.code.row().class, Class::CodeError);
    Some((signature, attempt, failed.confirmed))
}

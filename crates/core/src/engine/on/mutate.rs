//! Handles `Mutate`: a task's irreversible action is declared for after its checks, a job's is
//! performed now.

use std::sync::Arc;

use super::raise::handle_raised_fault;
use crate::engine::command::CommandRejection;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow::{self, DECLARED_MAX};
use crate::engine::ids::{EffectId, MutationId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::run::{Phase, Step};
use crate::engine::transition::Transition;
use crate::fault::{Fault, Logic};
use crate::plan::{MutationSpec, WorkPhase};

pub(super) fn handle_mutate(
    turn: &mut Transition<'_>,
    effect: EffectId,
    mutation: MutationSpec,
) -> Result<(), CommandRejection> {
    let run = turn.run_owed(effect)?;
    let id = run.id;
    let task = run.task;
    if let Some(phase) = turn.find_task(task)?.spec.phase.filter(|phase| *phase != WorkPhase::Act) {
        return reject_in_phase(turn, effect, (id, phase), &mutation);
    }
    let run = turn.run_owed(effect)?;
    match run.step {
        Step::Attempt { .. } => declare_action(turn, id, task, mutation),
        Step::Execute => perform_action(turn, id, task, mutation),
        _ => Err(CommandRejection::Misfit(effect)),
    }
}

/// Handles an action in a phase that must not act. A script fails with the violation, however it
/// ends; an agent is told of it.
fn reject_in_phase(
    turn: &mut Transition<'_>,
    effect: EffectId,
    (id, phase): (RunId, WorkPhase),
    wanted: &MutationSpec,
) -> Result<(), CommandRejection> {
    let message = format!(
        "{:?} was to be done in the phase {:?}; only the phase \"act\" does what cannot be taken back",
        wanted.key,
        phase.as_str(),
    );
    let why = Arc::from(message.as_str());
    let step = Some(wanted.key.clone());
    let context = Logic { step, phase: Some(phase.as_str().to_owned()), exit: None };
    let fault = Arc::new(Fault::logic_phase_violation("ledger", message, context));
    match turn.run_owed(effect)?.step {
        Step::Execute => turn.emit_event(Event::Blamed { run: id, fault }),
        _ => {
            let what = Arc::from(wanted.key.as_str());
            turn.emit_event(Event::Refused { run: id, what, why });
            handle_raised_fault(turn, id, &fault);
        }
    }
    Ok(())
}

fn declare_action(
    turn: &mut Transition<'_>,
    run: RunId,
    id: TaskId,
    wanted: MutationSpec,
) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let known = (0..).map_while(|at| task.action_at(at)).find(|known| known.key == wanted.key);
    match known {
        Some(known) if (known.kind, known.arguments) == (wanted.kind, wanted.arguments) => {
            return Ok(());
        }
        Some(_) => return Err(CommandRejection::KeyReused(wanted.key)),
        None if task.declared.len() >= DECLARED_MAX => {
            return Err(CommandRejection::NotNow {
                what: wanted.key,
                state: "one action too many",
            });
        }
        None => {}
    }
    let before = earlier_outcome(turn, &wanted)?;
    turn.emit_event(Event::Declared { run, mutation: Arc::new(wanted), before });
    Ok(())
}

/// Returns the outcome of an action whose key holds for the whole project, if another task or build
/// has settled it. Such an action is not performed again.
fn earlier_outcome(
    turn: &Transition<'_>,
    wanted: &MutationSpec,
) -> Result<Option<Reconciled>, CommandRejection> {
    let known = turn.state.permanent_action(&wanted.key).filter(|_| wanted.permanent);
    let Some(known) = known else { return Ok(None) };
    if (known.spec.kind, known.spec.arguments) != (wanted.kind, wanted.arguments)
        && !known.leaves_key_free()
    {
        return Err(CommandRejection::KeyReused(wanted.key.clone()));
    }
    Ok(match known.state {
        MutationState::Applied { .. } => Some(Reconciled::Applied),
        MutationState::Skipped => Some(Reconciled::Skipped),
        MutationState::Intended
        | MutationState::InFlight { .. }
        | MutationState::Probing { .. }
        | MutationState::Settling { .. }
        | MutationState::Indeterminate
        | MutationState::NotApplied => None,
    })
}

/// Sends an action now, unless it was performed before.
pub(super) fn perform_action(
    turn: &mut Transition<'_>,
    run: RunId,
    id: TaskId,
    wanted: MutationSpec,
) -> Result<(), CommandRejection> {
    let task = turn.find_task(id)?;
    let known = turn.state.find_same_action(task, &wanted);
    let Ok(known) = known else { return Err(CommandRejection::KeyReused(wanted.key)) };
    let mutation = match known.map(|known| (known.id, &known.state)) {
        None => {
            turn.reach_phase(run, Phase::Mutating);
            let mutation = MutationId(turn.state.ids.mutation);
            let doubted = turn.state.is_doubted(&wanted.key);
            turn.emit_event(Event::MutationIntended { mutation, run, spec: Arc::new(wanted) });
            if doubted {
                flow::probe_doubted_action(turn, run, mutation);
                return Ok(());
            }
            mutation
        }
        Some((mutation, MutationState::Intended | MutationState::NotApplied)) => {
            turn.reach_phase(run, Phase::Mutating);
            mutation
        }
        // Already performed or skipped: the recorded result is the answer, and nothing happens.
        Some((_, MutationState::Applied { .. } | MutationState::Skipped)) => return Ok(()),
        Some((_, _)) => {
            return Err(CommandRejection::NotNow { what: wanted.key, state: "not settled yet" });
        }
    };
    turn.emit_event(Event::MutationInFlight { mutation, run });
    Ok(())
}

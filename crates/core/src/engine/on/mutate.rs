//! Handles `Mutate`: a task's irreversible action is declared for after its checks, a job's is
//! performed now.

use std::sync::Arc;

use super::raise::raised;
use crate::engine::command::Rejected;
use crate::engine::event::{Event, Reconciled};
use crate::engine::flow::{self, DECLARED_MAX};
use crate::engine::ids::{EffectId, MutationId, RunId, TaskId};
use crate::engine::ledger::MutationState;
use crate::engine::run::{Phase, Step};
use crate::engine::turn::Turn;
use crate::fault::{Fault, Logic};
use crate::plan::{MutationSpec, WorkPhase};

pub(super) fn on(
    turn: &mut Turn<'_>,
    effect: EffectId,
    mutation: MutationSpec,
) -> Result<(), Rejected> {
    let run = turn.run_owed(effect)?;
    let id = run.id;
    let task = run.task;
    if let Some(phase) = turn.task(task)?.spec.phase.filter(|phase| *phase != WorkPhase::Act) {
        return violate(turn, effect, (id, phase), &mutation);
    }
    let run = turn.run_owed(effect)?;
    match run.step {
        Step::Attempt { .. } => declare(turn, id, task, mutation),
        Step::Execute => perform(turn, id, task, mutation),
        _ => Err(Rejected::Misfit(effect)),
    }
}

/// Handles an action in a phase that must not act. A script fails with the violation, however it
/// ends; an agent is told of it.
fn violate(
    turn: &mut Turn<'_>,
    effect: EffectId,
    (id, phase): (RunId, WorkPhase),
    wanted: &MutationSpec,
) -> Result<(), Rejected> {
    let message = format!(
        "{:?} was to be done in the phase {:?}; only the phase \"act\" does what cannot be taken back",
        wanted.key,
        phase.as_str(),
    );
    let context = Logic { step: Some(wanted.key.clone()), exit: None };
    let fault = Arc::new(Fault::logic_phase_violation("ledger", message, context));
    match turn.run_owed(effect)?.step {
        Step::Execute => turn.emit(Event::Blamed { run: id, fault }),
        _ => raised(turn, id, &fault),
    }
    Ok(())
}

fn declare(
    turn: &mut Turn<'_>,
    run: RunId,
    id: TaskId,
    wanted: MutationSpec,
) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    let known = (0..).map_while(|at| task.action(at)).find(|known| known.key == wanted.key);
    match known {
        Some(known) if (known.kind, known.arguments) == (wanted.kind, wanted.arguments) => {
            return Ok(());
        }
        Some(_) => return Err(Rejected::KeyReused(wanted.key)),
        None if task.declared.len() >= DECLARED_MAX => {
            return Err(Rejected::NotNow { what: wanted.key, state: "one action too many" });
        }
        None => {}
    }
    let before = settled_before(turn, &wanted)?;
    turn.emit(Event::Declared { run, mutation: Arc::new(wanted), before });
    Ok(())
}

/// Returns the outcome of an action whose key holds for the whole project, if another task or build
/// has settled it. Such an action is not performed again.
fn settled_before(turn: &Turn<'_>, wanted: &MutationSpec) -> Result<Option<Reconciled>, Rejected> {
    let known = turn.state.permanent_action(&wanted.key).filter(|_| wanted.permanent);
    let Some(known) = known else { return Ok(None) };
    if (known.spec.kind, known.spec.arguments) != (wanted.kind, wanted.arguments) {
        return Err(Rejected::KeyReused(wanted.key.clone()));
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
pub(super) fn perform(
    turn: &mut Turn<'_>,
    run: RunId,
    id: TaskId,
    wanted: MutationSpec,
) -> Result<(), Rejected> {
    let task = turn.task(id)?;
    let known = turn.state.ledger.find(task, &wanted);
    if known.is_some_and(|known| known.spec.arguments != wanted.arguments) {
        return Err(Rejected::KeyReused(wanted.key));
    }
    let mutation = match known.map(|known| (known.id, &known.state)) {
        None => {
            flow::reach(turn, run, Phase::Mutating);
            let mutation = MutationId(turn.state.ids.mutation);
            let doubted = turn.state.is_doubted(&wanted.key);
            turn.emit(Event::MutationIntended { mutation, run, spec: Arc::new(wanted) });
            if doubted {
                flow::doubt(turn, run, mutation);
                return Ok(());
            }
            mutation
        }
        Some((mutation, MutationState::Intended | MutationState::NotApplied)) => {
            flow::reach(turn, run, Phase::Mutating);
            mutation
        }
        // Already performed or skipped: the recorded result is the answer, and nothing happens.
        Some((_, MutationState::Applied { .. } | MutationState::Skipped)) => return Ok(()),
        Some((_, _)) => {
            return Err(Rejected::NotNow { what: wanted.key, state: "not settled yet" });
        }
    };
    turn.emit(Event::MutationInFlight { mutation, run });
    Ok(())
}

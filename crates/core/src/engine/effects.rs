//! Derives the effects that the runner must perform from an event.

use super::effect::{Effect, EffectKind};
use super::event::{Event, RecordedEvent};
use super::ids::{EffectId, RunId};
use super::ledger::MutationState;
use super::run::Step;
use super::state::{EffectWaiter, State};

/// Returns the effects that the runner must perform because of `recorded`, which has been applied
/// to `state`.
///
/// An effect that a later event of the same decision made pointless is not included.
pub fn requested_effects(
    state: &State,
    recorded: &RecordedEvent,
) -> impl Iterator<Item = Effect> + use<> {
    let id = EffectId(recorded.seq);
    stop_effect(state, id, &recorded.event).into_iter().chain(state.effect(id))
}

fn stop_effect(state: &State, id: EffectId, event: &Event) -> Option<Effect> {
    let (run, stop) = match event {
        Event::RunPaused { run, stop, .. }
        | Event::RunFailed { run, stop, .. }
        | Event::RunCancelled { run, stop } => (*run, (*stop)?),
        _ => return None,
    };
    let task = state.run(run).map(|run| run.task).unwrap_or_default();
    Some(Effect { id, task, run, what: EffectKind::Stop { effect: stop } })
}

impl State {
    /// Returns the effect with this id, if a run or an action waits for it.
    pub fn effect(&self, id: EffectId) -> Option<Effect> {
        match self.owed.get(&id)? {
            EffectWaiter::Run(run) => self.run_effect(id, *run),
            EffectWaiter::Mutation(mutation) => {
                let mutation = self.mutation(*mutation)?;
                let what = match mutation.state {
                    MutationState::InFlight { .. } => EffectKind::Perform { mutation: mutation.id },
                    MutationState::Probing { .. } => EffectKind::Probe { mutation: mutation.id },
                    _ => return None,
                };
                Some(Effect { id, task: mutation.task, run: mutation.run, what })
            }
        }
    }

    fn run_effect(&self, id: EffectId, run: RunId) -> Option<Effect> {
        let run = self.run(run)?;
        let what = match run.step {
            Step::Attempt { start } => EffectKind::Attempt { start },
            Step::Check => EffectKind::Check,
            Step::Commit => EffectKind::Commit,
            Step::Emit => EffectKind::Emit,
            Step::Repair { propose } => EffectKind::Repair { propose },
            Step::Execute => {
                let executions = self.task(run.task).map_or(0, |task| task.executions);
                EffectKind::Execute { retry: executions.saturating_sub(1) }
            }
            Step::TakeBack => EffectKind::TakeBack,
            Step::AwaitMerge | Step::Mutate { .. } => return None,
        };
        Some(Effect { id, task: run.task, run: run.id, what })
    }
}

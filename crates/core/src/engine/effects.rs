//! Derives the effects that the runner must perform from an event.

use super::effect::{Effect, Work};
use super::event::{Event, Recorded};
use super::ids::{EffectId, RunId};
use super::ledger::MutationState;
use super::run::Step;
use super::state::{Owner, State};

/// Returns the effects that the runner must perform because of `recorded`, which has been applied
/// to `state`.
///
/// An effect that a later event of the same decision made pointless is not included.
pub fn effects(state: &State, recorded: &Recorded) -> impl Iterator<Item = Effect> + use<> {
    let id = EffectId(recorded.seq);
    stop(state, id, &recorded.event).into_iter().chain(state.effect(id))
}

fn stop(state: &State, id: EffectId, event: &Event) -> Option<Effect> {
    let (run, stop) = match event {
        Event::RunPaused { run, stop, .. }
        | Event::RunFailed { run, stop, .. }
        | Event::RunCancelled { run, stop } => (*run, (*stop)?),
        _ => return None,
    };
    let task = state.run(run).map(|run| run.task).unwrap_or_default();
    Some(Effect { id, task, run, what: Work::Stop { effect: stop } })
}

impl State {
    /// Returns the effect with this id, if a run or an action waits for it.
    pub fn effect(&self, id: EffectId) -> Option<Effect> {
        match self.owed.get(&id)? {
            Owner::Run(run) => self.effect_of_run(id, *run),
            Owner::Mutation(mutation) => {
                let mutation = self.mutation(*mutation)?;
                let what = match mutation.state {
                    MutationState::InFlight { .. } => Work::Perform { mutation: mutation.id },
                    MutationState::Probing { .. } => Work::Probe { mutation: mutation.id },
                    _ => return None,
                };
                Some(Effect { id, task: mutation.task, run: mutation.run, what })
            }
        }
    }

    fn effect_of_run(&self, id: EffectId, run: RunId) -> Option<Effect> {
        let run = self.run(run)?;
        let what = match run.step {
            Step::Attempt { start } => Work::Attempt { start },
            Step::Check => Work::Check,
            Step::Commit => Work::Commit,
            Step::Emit => Work::Emit,
            Step::Repair { propose } => Work::Repair { propose },
            Step::Execute => {
                let executions = self.task(run.task).map_or(0, |task| task.executions);
                Work::Execute { retry: executions.saturating_sub(1) }
            }
            Step::TakeBack => Work::TakeBack,
            Step::AwaitMerge | Step::Mutate { .. } => return None,
        };
        Some(Effect { id, task: run.task, run: run.id, what })
    }
}

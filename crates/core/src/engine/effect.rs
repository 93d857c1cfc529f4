//! Effects: the work that the engine requests from the runner, as data that follows from events.

use serde::{Deserialize, Serialize};

use super::event::RecordedEvent;
use super::ids::{EffectId, MutationId, RunId, TaskId};
use super::ledger::MutationState;
use super::run::{Start, Step};
use super::state::{EffectWaiter, State};

/// Work that the runner owes. Its result names the id; results with other ids are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The id that the result names.
    pub id: EffectId,
    /// The task that the effect belongs to.
    pub task: TaskId,
    /// The run that the effect belongs to.
    pub run: RunId,
    /// The work to be done.
    pub what: EffectKind,
}

/// The work to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum EffectKind {
    /// Let the agent work on the task in its worktree.
    Attempt {
        /// The worktree and conversation that the agent starts with.
        start: Start,
    },
    /// Bring the change onto the build's head, then check scope and validation there.
    Check,
    /// Commit what was checked.
    Commit,
    /// Perform an irreversible action.
    Perform {
        /// The action to perform.
        mutation: MutationId,
    },
    /// Probe whether an irreversible action happened.
    Probe {
        /// The action to probe.
        mutation: MutationId,
    },
    /// Finish the run: its result is final, and its worktree can be removed.
    Emit,
    /// Let an agent repair the job's script.
    Repair {
        /// True if the change is only proposed, not used.
        propose: bool,
    },
    /// Run the job's script.
    Execute {
        /// Number of earlier starts of the script in this firing.
        retry: u32,
    },
    /// Revert the changes that the operator did not allow.
    TakeBack,
}

/// A change of what the runner performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectChange {
    /// Perform this effect.
    Start(Effect),
    /// Stop this effect, because its result is no longer wanted.
    Stop(EffectId),
}

/// Returns the effects that the runner must stop and perform because of `recorded`, which has been
/// applied to `state`.
///
/// An effect that a later event of the same decision made pointless is not included.
pub fn requested_effects(
    state: &State,
    recorded: &RecordedEvent,
) -> impl Iterator<Item = EffectChange> + use<> {
    let stopped = recorded.event.stopped_effect().map(EffectChange::Stop);
    let started = state.effect(EffectId(recorded.seq)).map(EffectChange::Start);
    stopped.into_iter().chain(started)
}

impl State {
    /// Returns all effects that are owed, oldest first. When the process starts, this list is
    /// authoritative.
    pub fn outstanding_effects(&self) -> Vec<Effect> {
        self.owed.iter_sorted().filter_map(|(id, _)| self.effect(id)).collect()
    }

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

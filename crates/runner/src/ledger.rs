//! The ledger as its users see it: an irreversible action that happens at most once.
//!
//! The intent is on disk before anything is sent; the same key again gets the recorded result and
//! sends nothing. What was lost on its way out or back is looked up; where that cannot tell, a
//! person is asked once the script has ended, and the next run of it gets what they said.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    Command, EffectId, Event, MutationId, MutationState, Outcome, Reconciled, Recorded, Rejected,
    State, TaskId, Work,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::MutationSpec;

use crate::checkpoint::task_of;
use crate::handle::{CommandError, Handle};
use crate::lock::lock;
use crate::notice::Notice;
use crate::probe::idempotency_key;
use crate::world::{Order, Report, Scope, World};

/// How an action is performed and looked up.
#[async_trait]
pub trait Action: Send + Sync {
    /// Performs it. `idempotency_key` is the same whenever this action is sent, so that the other
    /// side can recognise a repeated call. Comes to [`Outcome::Applied`], [`Outcome::Failed`] when
    /// it certainly did not happen, or [`Outcome::Unknown`].
    async fn call(&self, idempotency_key: &str) -> Outcome;

    /// Finds out whether it happened: [`Outcome::Applied`], [`Outcome::NotApplied`] or
    /// [`Outcome::CannotTell`]. Not asked where a command looks the action up
    /// ([`MutationSpec::look_up`]): whoever performs the task runs that, whether we live or not.
    async fn probe(&self, _idempotency_key: &str) -> Outcome {
        Outcome::CannotTell { said: None }
    }
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// It happened, now or earlier, with this result.
    Applied(Arc<str>),
    /// It did not happen.
    Failed(Arc<Fault>),
    /// A person decided to leave it out.
    Skipped,
    /// Nobody can tell whether it happened. A person is asked as soon as the script has ended.
    NeedsPerson,
}

impl Handle {
    /// Performs an action for the execution behind `effect`, at most once per key, and waits until
    /// it is settled.
    pub async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, CommandError> {
        let mut notices = self.watch();
        let task = self.task_of(effect).await?;
        let failure = Arc::new(Mutex::new(None));
        let world = Arc::new(Acting { action, failure: Arc::clone(&failure) });
        let scope = Scope::Action { task, key: Arc::from(spec.key.as_str()) };
        let attachment = self.attach(scope, world).await?;
        let settled = self.settle(effect, task, &spec, &mut notices, &failure).await;
        self.detach(attachment).await?;
        settled
    }

    async fn settle(
        &self,
        effect: EffectId,
        task: TaskId,
        spec: &MutationSpec,
        notices: &mut broadcast::Receiver<Notice>,
        failure: &Mutex<Option<Arc<Fault>>>,
    ) -> Result<Settled, CommandError> {
        loop {
            let mutate = Command::Mutate { effect, mutation: spec.clone() };
            match self.command(mutate).await {
                Ok(decided) => {
                    if let Some(fault) = blamed(&decided.events) {
                        return Ok(Settled::Failed(fault));
                    }
                }
                // Somebody else finds out what became of it: that is waited for.
                Err(CommandError::Rejected(Rejected::NotNow { .. })) => {}
                Err(error) => return Err(error),
            }
            let key = spec.key.clone();
            let known = self.look(move |state| known(state, task, &key)).await?;
            let Some((id, state)) = known else { return Err(CommandError::Ended) };
            let over = match state {
                MutationState::Applied { result } => Some(Settled::Applied(result)),
                MutationState::Skipped => Some(Settled::Skipped),
                MutationState::Indeterminate => Some(Settled::NeedsPerson),
                _ => self.wait(id, notices, failure).await?,
            };
            if let Some(settled) = over {
                return Ok(settled);
            }
        }
    }

    /// Waits for what becomes of an action; nothing when it is to be performed after all.
    async fn wait(
        &self,
        id: MutationId,
        notices: &mut broadcast::Receiver<Notice>,
        failure: &Mutex<Option<Arc<Fault>>>,
    ) -> Result<Option<Settled>, CommandError> {
        loop {
            let event = match notices.recv().await {
                Ok(Notice::Event { recorded, .. }) => recorded,
                Ok(_) => continue,
                // What was missed is in the state.
                Err(RecvError::Lagged(_)) => return Ok(None),
                Err(RecvError::Closed) => return Err(CommandError::Ended),
            };
            match &event.event {
                Event::MutationApplied { mutation, result } if *mutation == id => {
                    return Ok(Some(Settled::Applied(Arc::clone(result))));
                }
                Event::MutationIndeterminate { mutation, .. } if *mutation == id => {
                    return Ok(Some(Settled::NeedsPerson));
                }
                Event::MutationFailed { mutation } if *mutation == id => {
                    let fault = lock(failure).take();
                    return Ok(fault.map(Settled::Failed));
                }
                Event::MutationReconciled { mutation, to, result } if *mutation == id => {
                    return Ok(match to {
                        Reconciled::Applied => Some(Settled::Applied(Arc::clone(result))),
                        Reconciled::Skipped => Some(Settled::Skipped),
                        Reconciled::NotApplied => None,
                    });
                }
                _ => {}
            }
        }
    }

    async fn task_of(&self, effect: EffectId) -> Result<TaskId, CommandError> {
        let task = self.look(move |state| task_of(state, effect)).await?;
        task.ok_or(CommandError::Rejected(Rejected::Stale(effect)))
    }
}

/// What the script is blamed for, because it may not do this at all.
fn blamed(decided: &[Arc<Recorded>]) -> Option<Arc<Fault>> {
    decided.iter().find_map(|recorded| match &recorded.event {
        Event::Blamed { fault, .. } => Some(Arc::clone(fault)),
        _ => None,
    })
}

/// The action with this key that the task sees: its own, or one of the project.
pub(crate) fn known(state: &State, task: TaskId, key: &str) -> Option<(MutationId, MutationState)> {
    state.action(task, key).map(|mutation| (mutation.id, mutation.state.clone()))
}

/// An action was to be sent by somebody who is gone.
pub(crate) fn sender_gone() -> Arc<Fault> {
    let context = Internal { component: "ledger".to_owned() };
    Arc::new(Fault::internal_error("ledger", "whoever was to send the action is gone", context))
}

/// Performs one action for as long as its caller waits.
struct Acting {
    action: Arc<dyn Action>,
    /// Why it failed, for the caller.
    failure: Arc<Mutex<Option<Arc<Fault>>>>,
}

#[async_trait]
impl World for Acting {
    async fn perform(&self, order: Order, _stop: CancellationToken) -> Option<Report> {
        let key = idempotency_key(&order.project, order.mutation.as_ref()?);
        let outcome = match order.effect.what {
            Work::Perform { .. } => self.action.call(&key).await,
            Work::Probe { .. } => self.action.probe(&key).await,
            _ => return None,
        };
        if let Outcome::Failed { fault, .. } = &outcome {
            *lock(&self.failure) = Some(Arc::clone(fault));
        }
        Some(outcome.into())
    }

    /// What an earlier process sent is looked up, not ended.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

//! Irreversible actions that happen at most once, through the ledger.
//!
//! The intent is on disk before the action is sent; the same key again gets the recorded result and
//! sends nothing. An action whose request or response was lost is looked up; if the lookup cannot
//! tell, the operator is asked once the script has ended, and the next run of the script gets the
//! answer.

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

/// An irreversible action: its call and its lookup.
#[async_trait]
pub trait Action: Send + Sync {
    /// Performs the action. `idempotency_key` is identical whenever this action is sent, so that
    /// the other side can recognize a repeated call. Returns [`Outcome::Applied`],
    /// [`Outcome::Failed`] if the action certainly did not happen, or [`Outcome::Unknown`].
    async fn call(&self, idempotency_key: &str) -> Outcome;

    /// Looks up whether the action happened: [`Outcome::Applied`], [`Outcome::NotApplied`] or
    /// [`Outcome::CannotTell`]. Not called for an action with a lookup command
    /// ([`MutationSpec::look_up`]): the worker of the task runs that command, even if this process
    /// is gone.
    async fn probe(&self, _idempotency_key: &str) -> Outcome {
        Outcome::CannotTell { said: None }
    }
}

/// The final result of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The action happened, now or earlier, with this result.
    Applied(Arc<str>),
    /// The action did not happen.
    Failed(Arc<Fault>),
    /// The operator decided to leave the action out.
    Skipped,
    /// The lookup cannot tell whether the action happened. The operator is asked as soon as the
    /// script has ended.
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
                // Another worker is looking the action up: wait for its result.
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

    /// Waits until an action is settled; `None` if it has to be performed after all.
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
                // Missed events are reflected in the state, which the caller reads next.
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

/// Returns the fault that the script is blamed for, if it is not permitted to perform the action at
/// all.
fn blamed(decided: &[Arc<Recorded>]) -> Option<Arc<Fault>> {
    decided.iter().find_map(|recorded| match &recorded.event {
        Event::Blamed { fault, .. } => Some(Arc::clone(fault)),
        _ => None,
    })
}

/// Returns the action with this key that is visible to the task: its own, or one of the project.
pub(crate) fn known(state: &State, task: TaskId, key: &str) -> Option<(MutationId, MutationState)> {
    state.action(task, key).map(|mutation| (mutation.id, mutation.state.clone()))
}

/// Returns the fault of an action whose sender is gone.
pub(crate) fn sender_gone() -> Arc<Fault> {
    let context = Internal { component: "ledger".to_owned() };
    Arc::new(Fault::internal_error(
        "ledger",
        "the process that was to send the action has ended",
        context,
    ))
}

/// The worker of one action, attached for as long as its caller waits.
struct Acting {
    action: Arc<dyn Action>,
    /// The fault of the last failed call, for the caller.
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

    /// Does nothing: an action that an earlier process sent is looked up, not ended.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

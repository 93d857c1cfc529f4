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
    Command, CommandRejection, EffectId, EffectKind, EffectOutcome, Event, MutationId,
    MutationState, Reconciled, RecordedEvent, State, TaskId,
};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::MutationSpec;

use super::probe::idempotency_key;
use crate::effects::{EffectRequest, EffectResult, PerformScope, Performer, lock_unpoisoned};
use crate::event_loop::{CommandError, RunnerHandle, RunnerNotice};

/// An irreversible action: its call and its lookup.
#[async_trait]
pub trait LedgerAction: Send + Sync {
    /// Performs the action. `idempotency_key` is identical whenever this action is sent, so that
    /// the other side can recognize a repeated call. Returns [`EffectOutcome::Applied`],
    /// [`EffectOutcome::Failed`] if the action certainly did not happen, or [`EffectOutcome::Unknown`].
    async fn perform_call(&self, idempotency_key: &str) -> EffectOutcome;

    /// Looks up whether the action happened: [`EffectOutcome::Applied`], [`EffectOutcome::NotApplied`] or
    /// [`EffectOutcome::CannotTell`]. Not called for an action with a lookup command
    /// ([`MutationSpec::look_up`]): the worker of the task runs that command, even if this process
    /// is gone.
    async fn probe_outcome(&self, _idempotency_key: &str) -> EffectOutcome {
        EffectOutcome::CannotTell { said: None }
    }
}

/// The final result of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionResult {
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

impl RunnerHandle {
    /// Performs an action for the execution behind `effect`, at most once per key, and waits until
    /// it is settled.
    pub async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, CommandError> {
        let mut notices = self.subscribe_notices();
        let task = self.find_effect_task(effect).await?;
        let failure = Arc::new(Mutex::new(None));
        let performer = Arc::new(ActionPerformer { action, failure: Arc::clone(&failure) });
        let scope = PerformScope::Action { task, key: Arc::from(spec.key.as_str()) };
        let attachment = self.attach_performer(scope, performer).await?;
        let settled = self.settle_action(effect, task, &spec, &mut notices, &failure).await;
        self.detach_performer(attachment).await?;
        settled
    }

    async fn settle_action(
        &self,
        effect: EffectId,
        task: TaskId,
        spec: &MutationSpec,
        notices: &mut broadcast::Receiver<RunnerNotice>,
        failure: &Mutex<Option<Arc<Fault>>>,
    ) -> Result<ActionResult, CommandError> {
        loop {
            let mutate = Command::Mutate { effect, mutation: spec.clone() };
            match self.submit_command(mutate).await {
                Ok(decided) => {
                    if let Some(fault) = find_blamed_fault(&decided.events) {
                        return Ok(ActionResult::Failed(fault));
                    }
                }
                // Another worker is looking the action up: wait for its result.
                Err(CommandError::Rejected(CommandRejection::NotNow { .. })) => {}
                Err(error) => return Err(error),
            }
            let key = spec.key.clone();
            let known = self.read_state(move |state| find_known_action(state, task, &key)).await?;
            let Some((id, state)) = known else { return Err(CommandError::Ended) };
            let over = match state {
                MutationState::Applied { result } => Some(ActionResult::Applied(result)),
                MutationState::Skipped => Some(ActionResult::Skipped),
                MutationState::Indeterminate => Some(ActionResult::NeedsPerson),
                _ => self.wait_until_settled(id, notices, failure).await?,
            };
            if let Some(settled) = over {
                return Ok(settled);
            }
        }
    }

    /// Waits until an action is settled; `None` if it has to be performed after all.
    async fn wait_until_settled(
        &self,
        id: MutationId,
        notices: &mut broadcast::Receiver<RunnerNotice>,
        failure: &Mutex<Option<Arc<Fault>>>,
    ) -> Result<Option<ActionResult>, CommandError> {
        loop {
            let event = match notices.recv().await {
                Ok(RunnerNotice::Event { recorded, .. }) => recorded,
                Ok(_) => continue,
                // Missed events are reflected in the state, which the caller reads next.
                Err(RecvError::Lagged(_)) => return Ok(None),
                Err(RecvError::Closed) => return Err(CommandError::Ended),
            };
            match &event.event {
                Event::MutationApplied { mutation, result } if *mutation == id => {
                    return Ok(Some(ActionResult::Applied(Arc::clone(result))));
                }
                Event::MutationIndeterminate { mutation, .. } if *mutation == id => {
                    return Ok(Some(ActionResult::NeedsPerson));
                }
                Event::MutationFailed { mutation } if *mutation == id => {
                    let fault = lock_unpoisoned(failure).take();
                    return Ok(fault.map(ActionResult::Failed));
                }
                Event::MutationReconciled { mutation, to, result } if *mutation == id => {
                    return Ok(match to {
                        Reconciled::Applied => Some(ActionResult::Applied(Arc::clone(result))),
                        Reconciled::Skipped => Some(ActionResult::Skipped),
                        Reconciled::NotApplied => None,
                    });
                }
                _ => {}
            }
        }
    }

    async fn find_effect_task(&self, effect: EffectId) -> Result<TaskId, CommandError> {
        let task =
            self.read_state(move |state| state.effect(effect).map(|effect| effect.task)).await?;
        task.ok_or(CommandError::Rejected(CommandRejection::Stale(effect)))
    }
}

/// Returns the fault that the script is blamed for, if it is not permitted to perform the action at
/// all.
fn find_blamed_fault(decided: &[Arc<RecordedEvent>]) -> Option<Arc<Fault>> {
    decided.iter().find_map(|recorded| match &recorded.event {
        Event::Blamed { fault, .. } => Some(Arc::clone(fault)),
        _ => None,
    })
}

/// Returns the action with this key that is visible to the task: its own, or one of the project.
pub(crate) fn find_known_action(
    state: &State,
    task: TaskId,
    key: &str,
) -> Option<(MutationId, MutationState)> {
    state.action(task, key).map(|mutation| (mutation.id, mutation.state.clone()))
}

/// Returns the fault of an action whose sender is gone.
pub(crate) fn sender_gone_fault() -> Arc<Fault> {
    let context = Internal { component: "ledger".to_owned() };
    Arc::new(Fault::internal_error(
        "ledger",
        "the process that was to send the action has ended",
        context,
    ))
}

/// The worker of one action, attached for as long as its caller waits.
struct ActionPerformer {
    action: Arc<dyn LedgerAction>,
    /// The fault of the last failed call, for the caller.
    failure: Arc<Mutex<Option<Arc<Fault>>>>,
}

#[async_trait]
impl Performer for ActionPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        _stop: CancellationToken,
    ) -> Option<EffectResult> {
        let key = idempotency_key(&order.project, order.mutation.as_ref()?);
        let outcome = match order.effect.what {
            EffectKind::Perform { .. } => self.action.perform_call(&key).await,
            EffectKind::Probe { .. } => self.action.probe_outcome(&key).await,
            _ => return None,
        };
        if let EffectOutcome::Failed { fault, .. } = &outcome {
            *lock_unpoisoned(&self.failure) = Some(Arc::clone(fault));
        }
        Some(outcome.into())
    }

    /// Does nothing: an action that an earlier process sent is looked up, not ended.
    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

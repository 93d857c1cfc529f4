//! The process at the other end as the holder sees it: a worker that performs effects, and actions
//! that it performs one by one.
//!
//! The ledger is kept by the holder: the other process only performs the action when told to and
//! reports the outcome. If it goes away in between, the action may have happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, EffectOutcome, TaskId};
use unstuck_core::plan::MutationSpec;

use super::wire::{ControlResponse, error_response};
use crate::effects::{EffectRequest, EffectResult, Performer, lock_unpoisoned};
use crate::event_loop::RunnerHandle;
use crate::ledger::{LedgerAction, sender_gone_fault};

/// The [`Performer`] that hands effects to the process at the other end.
pub(super) struct RemotePerformer {
    say: mpsc::Sender<ControlResponse>,
    /// The effects it was performing when it attached.
    performing: Vec<EffectId>,
    waiting: Mutex<BTreeMap<EffectId, oneshot::Sender<Option<EffectResult>>>>,
    clearing: Mutex<Option<(Vec<TaskId>, oneshot::Sender<()>)>>,
}

impl RemotePerformer {
    pub(super) const fn new(say: mpsc::Sender<ControlResponse>, performing: Vec<EffectId>) -> Self {
        let waiting = Mutex::new(BTreeMap::new());
        Self { say, performing, waiting, clearing: Mutex::new(None) }
    }

    /// Passes on the report of an effect from the other process.
    pub(super) fn pass_result(&self, effect: EffectId, report: Option<EffectResult>) {
        let waiting = lock_unpoisoned(&self.waiting).remove(&effect);
        if let Some(waiting) = waiting {
            // The loop may have stopped waiting.
            let _ = waiting.send(report);
        }
    }

    /// Passes on that no process of these tasks is left.
    pub(super) fn pass_cleared(&self, tasks: &[TaskId]) {
        let cleared = lock_unpoisoned(&self.clearing).take_if(|(wanted, _)| wanted == tasks);
        if let Some((_, cleared)) = cleared {
            // The loop may have stopped waiting.
            let _ = cleared.send(());
        }
    }

    /// Ends the wait for clearing, because the other process is gone.
    pub(super) fn abandon_clearing(&self) {
        lock_unpoisoned(&self.clearing).take();
    }
}

#[async_trait]
impl Performer for RemotePerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let effect = order.effect.id;
        let (send, mut ended) = oneshot::channel();
        lock_unpoisoned(&self.waiting).insert(effect, send);
        if self.say.send(ControlResponse::Perform(Box::new(order))).await.is_err() {
            // The other process is gone; the connection detaches it in a moment, and recovery
            // follows.
            stop.cancelled().await;
            return None;
        }
        tokio::select! {
            report = &mut ended => return report.ok().flatten(),
            () = stop.cancelled() => {}
        }
        let _ = self.say.send(ControlResponse::Stop(effect)).await;
        ended.await.ok().flatten()
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.performing.clone()
    }

    fn outlives_the_loop(&self) -> bool {
        true
    }

    /// Lets the other process clear the tasks, because only it knows where their processes would
    /// be. If it goes away before it is done, the next worker clears them before it starts any
    /// effect.
    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        let (send, cleared) = oneshot::channel();
        *lock_unpoisoned(&self.clearing) = Some((tasks.to_vec(), send));
        if self.say.send(ControlResponse::Clear { tasks: tasks.to_vec() }).await.is_ok() {
            let _ = cleared.await;
        }
    }
}

/// The actions that one process performs.
pub(super) struct RemoteActions {
    say: mpsc::Sender<ControlResponse>,
    all: BTreeMap<u64, Arc<RemoteAction>>,
}

impl RemoteActions {
    pub(super) const fn new(say: mpsc::Sender<ControlResponse>) -> Self {
        Self { say, all: BTreeMap::new() }
    }

    /// Takes up an action, and sends its result once it is settled.
    pub(super) fn begin_action(
        &mut self,
        handle: &RunnerHandle,
        id: u64,
        effect: EffectId,
        mutation: MutationSpec,
    ) {
        let action =
            Arc::new(RemoteAction { act: id, say: self.say.clone(), told: new_call_state() });
        // Drops the entries of settled actions, which no other task refers to.
        self.all.retain(|_, action| Arc::strong_count(action) > 1);
        self.all.insert(id, Arc::clone(&action));
        let handle = handle.clone();
        let say = self.say.clone();
        tokio::spawn(async move {
            let said = match handle.perform_action(effect, mutation, action).await {
                Ok(settled) => ControlResponse::Settled { id, settled },
                Err(error) => error_response(id, &error),
            };
            // The client may be gone.
            let _ = say.send(said).await;
        });
    }

    /// Passes on the outcome that the other process reported.
    pub(super) fn pass_outcome(&self, act: u64, outcome: EffectOutcome) {
        let waiting =
            self.all.get(&act).and_then(|action| lock_unpoisoned(&action.told).waiting.take());
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    /// Marks all actions as abandoned, because the other process is gone.
    pub(super) fn abandon_all(&self) {
        for action in self.all.values() {
            *lock_unpoisoned(&action.told) = RemoteCallState { gone: true, waiting: None };
        }
    }
}

/// The state of a request to the other process.
struct RemoteCallState {
    gone: bool,
    waiting: Option<oneshot::Sender<EffectOutcome>>,
}

const fn new_call_state() -> Mutex<RemoteCallState> {
    Mutex::new(RemoteCallState { gone: false, waiting: None })
}

struct RemoteAction {
    act: u64,
    say: mpsc::Sender<ControlResponse>,
    told: Mutex<RemoteCallState>,
}

impl RemoteAction {
    /// Tells the other process to act, and waits for the outcome; `None` if it is gone.
    async fn request_outcome(&self, idempotency_key: &str, look_up: bool) -> Option<EffectOutcome> {
        let (send, acted) = oneshot::channel();
        {
            let mut told = lock_unpoisoned(&self.told);
            if told.gone {
                return None;
            }
            told.waiting = Some(send);
        }
        let idempotency_key = idempotency_key.to_owned();
        let act = ControlResponse::Act { act: self.act, idempotency_key, look_up };
        self.say.send(act).await.ok()?;
        acted.await.ok()
    }
}

#[async_trait]
impl LedgerAction for RemoteAction {
    async fn perform_call(&self, idempotency_key: &str) -> EffectOutcome {
        let acted = self.request_outcome(idempotency_key, false).await;
        match acted {
            Some(
                outcome @ (EffectOutcome::Applied { .. }
                | EffectOutcome::Failed { .. }
                | EffectOutcome::Unknown { .. }),
            ) => outcome,
            _ => EffectOutcome::Unknown { fault: sender_gone_fault() },
        }
    }

    async fn probe_outcome(&self, idempotency_key: &str) -> EffectOutcome {
        let found = self.request_outcome(idempotency_key, true).await;
        match found {
            Some(outcome @ (EffectOutcome::Applied { .. } | EffectOutcome::NotApplied)) => outcome,
            _ => EffectOutcome::CannotTell { said: None },
        }
    }
}

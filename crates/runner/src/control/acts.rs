//! Actions that the process at the other end performs one by one, as the holder sees them.
//!
//! The ledger is kept by the holder: the other process only performs the action when told to and
//! reports the outcome. If it goes away in between, the action may have happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use unstuck_core::engine::{EffectId, EffectOutcome};
use unstuck_core::plan::MutationSpec;

use super::reply::error_response;
use super::wire::ControlResponse;
use crate::effects::lock_unpoisoned;
use crate::event_loop::RunnerHandle;
use crate::ledger::{LedgerAction, sender_gone_fault};

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

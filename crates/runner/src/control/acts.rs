//! Actions that the process at the other end performs one by one, as the holder sees them.
//!
//! The ledger is kept by the holder: the other process only performs the action when told to and
//! reports the outcome. If it goes away in between, the action may have happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use unstuck_core::engine::{EffectId, Outcome};
use unstuck_core::plan::MutationSpec;

use super::reply::refused_by;
use super::wire::Say;
use crate::handle::Handle;
use crate::ledger::{Action, sender_gone};
use crate::lock::lock;

/// The actions that one process performs.
pub(super) struct Acts {
    say: mpsc::Sender<Say>,
    all: BTreeMap<u64, Arc<RemoteAction>>,
}

impl Acts {
    pub(super) const fn new(say: mpsc::Sender<Say>) -> Self {
        Self { say, all: BTreeMap::new() }
    }

    /// Takes up an action, and sends its result once it is settled.
    pub(super) fn begin(
        &mut self,
        handle: &Handle,
        id: u64,
        effect: EffectId,
        mutation: MutationSpec,
    ) {
        let action = Arc::new(RemoteAction { act: id, say: self.say.clone(), told: told() });
        // Drops the entries of settled actions, which no other task refers to.
        self.all.retain(|_, action| Arc::strong_count(action) > 1);
        self.all.insert(id, Arc::clone(&action));
        let handle = handle.clone();
        let say = self.say.clone();
        tokio::spawn(async move {
            let said = match handle.mutate(effect, mutation, action).await {
                Ok(settled) => Say::Settled { id, settled },
                Err(error) => refused_by(id, &error),
            };
            // The client may be gone.
            let _ = say.send(said).await;
        });
    }

    /// Passes on the outcome that the other process reported.
    pub(super) fn acted(&self, act: u64, outcome: Outcome) {
        let waiting = self.all.get(&act).and_then(|action| lock(&action.told).waiting.take());
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    /// Marks all actions as abandoned, because the other process is gone.
    pub(super) fn gone(&self) {
        for action in self.all.values() {
            *lock(&action.told) = Told { gone: true, waiting: None };
        }
    }
}

/// The state of a request to the other process.
struct Told {
    gone: bool,
    waiting: Option<oneshot::Sender<Outcome>>,
}

const fn told() -> Mutex<Told> {
    Mutex::new(Told { gone: false, waiting: None })
}

struct RemoteAction {
    act: u64,
    say: mpsc::Sender<Say>,
    told: Mutex<Told>,
}

impl RemoteAction {
    /// Tells the other process to act, and waits for the outcome; `None` if it is gone.
    async fn tell(&self, idempotency_key: &str, look_up: bool) -> Option<Outcome> {
        let (send, acted) = oneshot::channel();
        {
            let mut told = lock(&self.told);
            if told.gone {
                return None;
            }
            told.waiting = Some(send);
        }
        let idempotency_key = idempotency_key.to_owned();
        let act = Say::Act { act: self.act, idempotency_key, look_up };
        self.say.send(act).await.ok()?;
        acted.await.ok()
    }
}

#[async_trait]
impl Action for RemoteAction {
    async fn call(&self, idempotency_key: &str) -> Outcome {
        let acted = self.tell(idempotency_key, false).await;
        match acted {
            Some(
                outcome @ (Outcome::Applied { .. }
                | Outcome::Failed { .. }
                | Outcome::Unknown { .. }),
            ) => outcome,
            _ => Outcome::Unknown { fault: sender_gone() },
        }
    }

    async fn probe(&self, idempotency_key: &str) -> Outcome {
        let found = self.tell(idempotency_key, true).await;
        match found {
            Some(outcome @ (Outcome::Applied { .. } | Outcome::NotApplied)) => outcome,
            _ => Outcome::CannotTell { said: None },
        }
    }
}

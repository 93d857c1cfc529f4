//! Actions that the process at the other end performs, one by one, as the holder sees them.
//!
//! The ledger is kept here: the other process only does what it is told and says how that ended. One
//! that goes away in between leaves an action behind that may have happened.

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

    /// Takes an action up. What comes of it is said when it is settled.
    pub(super) fn begin(
        &mut self,
        handle: &Handle,
        id: u64,
        effect: EffectId,
        mutation: MutationSpec,
    ) {
        let action = Arc::new(RemoteAction { act: id, say: self.say.clone(), told: told() });
        // Those that are settled are nobody's any more.
        self.all.retain(|_, action| Arc::strong_count(action) > 1);
        self.all.insert(id, Arc::clone(&action));
        let (handle, say) = (handle.clone(), self.say.clone());
        tokio::spawn(async move {
            let said = match handle.mutate(effect, mutation, action).await {
                Ok(settled) => Say::Settled { id, settled },
                Err(error) => refused_by(id, &error),
            };
            // Whoever asked may be gone.
            let _ = say.send(said).await;
        });
    }

    /// The other process says how it ended.
    pub(super) fn acted(&self, act: u64, outcome: Outcome) {
        let waiting = self.all.get(&act).and_then(|action| lock(&action.told).waiting.take());
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    /// The other process is gone and says nothing any more.
    pub(super) fn gone(&self) {
        for action in self.all.values() {
            *lock(&action.told) = Told { gone: true, waiting: None };
        }
    }
}

/// What the other process was told and has not answered.
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
    /// Tells the other process, and waits for what it says; nothing when it is gone.
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

//! Another process that performs effects, as the holder sees it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, TaskId};

use super::wire::Say;
use crate::world::{Order, Report, World};

/// Performs effects by handing them to the process at the other end.
pub(super) struct RemoteWorld {
    say: mpsc::Sender<Say>,
    waiting: Mutex<BTreeMap<EffectId, oneshot::Sender<Option<Report>>>>,
}

impl RemoteWorld {
    pub(super) const fn new(say: mpsc::Sender<Say>) -> Self {
        Self { say, waiting: Mutex::new(BTreeMap::new()) }
    }

    /// The other process says how an effect ended.
    pub(super) fn ended(&self, effect: EffectId, report: Option<Report>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&effect);
        if let Some(waiting) = waiting {
            // The loop may have stopped waiting.
            let _ = waiting.send(report);
        }
    }
}

#[async_trait]
impl World for RemoteWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let effect = order.effect.id;
        let (send, mut ended) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(effect, send);
        if self.say.send(Say::Perform(Box::new(order))).await.is_err() {
            // It is gone; the loop is told so in a moment and takes everything up from there.
            stop.cancelled().await;
            return None;
        }
        tokio::select! {
            report = &mut ended => return report.ok().flatten(),
            () = stop.cancelled() => {}
        }
        let _ = self.say.send(Say::Stop(effect)).await;
        ended.await.ok().flatten()
    }

    /// It clears up before it attaches: only it knows where its processes would be.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

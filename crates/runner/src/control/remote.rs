//! A remote worker: another process that performs effects, as the holder sees it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, TaskId};

use super::wire::ControlResponse;
use crate::effects::{EffectRequest, EffectResult, Performer, lock_unpoisoned};

/// The [`World`] that hands effects to the process at the other end.
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

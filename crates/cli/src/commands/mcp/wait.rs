//! Waits for the work of a session, which the client does.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Effect, EffectId, EffectKind, EffectOutcome, TaskId};
use unstuck_core::fault::Fault;
use unstuck_runner::{EffectRequest, EffectResult, Performer};

use crate::error::internal_fault;

/// The world of a session: it waits for the client's own work. There is no worktree, and no check runs.
pub(super) struct ClientWork {
    current: watch::Sender<Option<Effect>>,
    ended: watch::Sender<bool>,
}

impl ClientWork {
    /// Creates the world of a session that begins.
    pub(super) fn new_ongoing() -> Arc<Self> {
        Self::new(false)
    }

    /// Creates the world of a session whose client is gone: its remaining work ends at once.
    pub(super) fn new_ended() -> Arc<Self> {
        Self::new(true)
    }

    fn new(ended: bool) -> Arc<Self> {
        Arc::new(Self { current: watch::Sender::new(None), ended: watch::Sender::new(ended) })
    }

    pub(super) fn current(&self) -> Option<Effect> {
        self.current.borrow().clone()
    }

    pub(super) async fn wait_for_attempt(&self) -> Option<Effect> {
        let mut current = self.current.subscribe();
        let begun = current.wait_for(Option::is_some).await;
        begun.ok().and_then(|effect| effect.clone())
    }

    /// Drops an attempt that needs no report any more.
    pub(super) fn forget_effect(&self, effect: EffectId) {
        self.current
            .send_if_modified(|current| current.take_if(|current| current.id == effect).is_some());
    }

    /// Ends the work, because the client states that it is done.
    pub(super) fn end_work(&self) {
        self.ended.send_replace(true);
    }

    async fn wait_for_client(
        &self,
        effect: Effect,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let id = effect.id;
        let mut ended = self.ended.subscribe();
        self.current.send_replace(Some(effect));
        let report = tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {
                Some(EffectOutcome::Attempted { approach: Arc::new(Approach::default()) }.into())
            }
            () = stop.cancelled() => None,
        };
        self.forget_effect(id);
        report
    }
}

#[async_trait]
impl Performer for ClientWork {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        match order.effect.what {
            EffectKind::Attempt { .. } => self.wait_for_client(order.effect, &stop).await,
            EffectKind::Check | EffectKind::Commit | EffectKind::Emit | EffectKind::TakeBack => {
                Some(EffectOutcome::Done.into())
            }
            EffectKind::Probe { .. } => Some(EffectOutcome::CannotTell { said: None }.into()),
            EffectKind::Perform { .. } | EffectKind::Repair { .. } | EffectKind::Execute { .. } => {
                let fault = Arc::new(misplaced_fault());
                Some(EffectOutcome::Failed { fault, approach: None }.into())
            }
        }
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.current().iter().map(|effect| effect.id).collect()
    }

    /// Does nothing, because the client is not a child process.
    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

fn misplaced_fault() -> Fault {
    internal_fault("mcp", "a session performs nothing")
}

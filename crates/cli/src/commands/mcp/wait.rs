//! The work of a session is done by somebody else: it is waited for.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Effect, EffectId, Outcome, TaskId, Work};
use unstuck_core::fault::{Fault, Internal};
use unstuck_runner::{Order, Report, World};

/// Waits for a client's own work. There is no worktree, and nothing of it is checked by us.
pub(super) struct Waits {
    /// The attempt that is waited for.
    current: watch::Sender<Option<Effect>>,
    ended: watch::Sender<bool>,
}

impl Waits {
    /// For a session that begins.
    pub(super) fn begun() -> Arc<Self> {
        Self::new(false)
    }

    /// For one whose client is gone: whatever it still owes is over.
    pub(super) fn over() -> Arc<Self> {
        Self::new(true)
    }

    fn new(ended: bool) -> Arc<Self> {
        Arc::new(Self { current: watch::Sender::new(None), ended: watch::Sender::new(ended) })
    }

    /// The attempt that goes on, if one does.
    pub(super) fn current(&self) -> Option<Effect> {
        self.current.borrow().clone()
    }

    /// The same, once there is one.
    pub(super) async fn begins(&self) -> Option<Effect> {
        let mut current = self.current.subscribe();
        let begun = current.wait_for(Option::is_some).await;
        begun.ok().and_then(|effect| effect.clone())
    }

    /// Nothing is owed for this attempt any more.
    pub(super) fn forget(&self, effect: EffectId) {
        self.current
            .send_if_modified(|current| current.take_if(|current| current.id == effect).is_some());
    }

    /// The client says that it is done.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    async fn attempt(&self, effect: Effect, stop: &CancellationToken) -> Option<Report> {
        let (id, mut ended) = (effect.id, self.ended.subscribe());
        self.current.send_replace(Some(effect));
        let report = tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {
                Some(Outcome::Attempted { approach: Arc::new(Approach::default()) }.into())
            }
            () = stop.cancelled() => None,
        };
        self.forget(id);
        report
    }
}

#[async_trait]
impl World for Waits {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        match order.effect.what {
            Work::Attempt { .. } => self.attempt(order.effect, &stop).await,
            Work::Check | Work::Commit | Work::Emit | Work::TakeBack => Some(Outcome::Done.into()),
            Work::Probe { .. } => Some(Outcome::CannotTell { said: None }.into()),
            Work::Perform { .. }
            | Work::Repair { .. }
            | Work::Execute { .. }
            | Work::Stop { .. } => {
                let fault = Arc::new(misplaced());
                Some(Outcome::Failed { fault, approach: None }.into())
            }
        }
    }

    fn performing(&self) -> Vec<EffectId> {
        self.current().iter().map(|effect| effect.id).collect()
    }

    /// The client is no child of ours, so there is nothing to end.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

fn misplaced() -> Fault {
    let context = Internal { component: "mcp".to_owned() };
    Fault::internal_error("mcp", "a session performs nothing", context)
}

//! Waits for the work of a session, which the client does.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Effect, EffectId, Outcome, TaskId, Work};
use unstuck_core::fault::{Fault, Internal};
use unstuck_runner::{Order, Report, World};

/// The world of a session: it waits for the client's own work. There is no worktree, and no check runs.
pub(super) struct Waits {
    /// The current attempt.
    current: watch::Sender<Option<Effect>>,
    ended: watch::Sender<bool>,
}

impl Waits {
    /// Creates the world of a session that begins.
    pub(super) fn begun() -> Arc<Self> {
        Self::new(false)
    }

    /// Creates the world of a session whose client is gone: its remaining work ends at once.
    pub(super) fn over() -> Arc<Self> {
        Self::new(true)
    }

    fn new(ended: bool) -> Arc<Self> {
        Arc::new(Self { current: watch::Sender::new(None), ended: watch::Sender::new(ended) })
    }

    /// Returns the current attempt, if there is one.
    pub(super) fn current(&self) -> Option<Effect> {
        self.current.borrow().clone()
    }

    /// Waits for an attempt and returns it.
    pub(super) async fn begins(&self) -> Option<Effect> {
        let mut current = self.current.subscribe();
        let begun = current.wait_for(Option::is_some).await;
        begun.ok().and_then(|effect| effect.clone())
    }

    /// Drops an attempt that needs no report any more.
    pub(super) fn forget(&self, effect: EffectId) {
        self.current
            .send_if_modified(|current| current.take_if(|current| current.id == effect).is_some());
    }

    /// Ends the work, because the client states that it is done.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    async fn attempt(&self, effect: Effect, stop: &CancellationToken) -> Option<Report> {
        let id = effect.id;
        let mut ended = self.ended.subscribe();
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

    /// Does nothing, because the client is not a child process.
    async fn clear(&self, _tasks: &[TaskId]) {}
}

fn misplaced() -> Fault {
    let context = Internal { component: "mcp".to_owned() };
    Fault::internal_error("mcp", "a session performs nothing", context)
}

//! Successive deciders: when the holder of the project ends, the next holder decides about the
//! effects that are performed in this process.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{Command, EffectId, Progress, Recorded};
use unstuck_core::plan::MutationSpec;
use unstuck_store::Conversation;

use crate::decider::{Decider, Look, Looked, Undecided};
use crate::ledger::{Action, Settled};

/// The current decider. A request that a holder left undecided when it ended is sent to the next
/// one; a decision that the holder recorded without a reply is recognized by its effect or key.
#[derive(Clone, Default)]
pub struct Succession(watch::Sender<Line>);

#[derive(Clone, Default)]
struct Line {
    /// The current decider, once there is one.
    decider: Option<Arc<dyn Decider>>,
    /// Set when no further decider follows.
    is_last: bool,
}

impl Succession {
    /// Makes `next` the current decider.
    pub fn succeed(&self, next: Arc<dyn Decider>) {
        self.0.send_replace(Line { decider: Some(next), is_last: false });
    }

    /// Makes the current decider the last one: requests it leaves undecided fail.
    pub fn close(&self) {
        self.0.send_modify(|line| line.is_last = true);
    }

    async fn ask<T, A>(&self, ask: impl Fn(Arc<dyn Decider>) -> A) -> Result<T, Undecided>
    where
        A: Future<Output = Result<T, Undecided>>,
    {
        let mut deciders = self.0.subscribe();
        loop {
            let Line { decider, is_last } = deciders.borrow_and_update().clone();
            if let Some(decider) = decider {
                match ask(decider).await {
                    Err(Undecided::Ended) => {}
                    answer => return answer,
                }
            }
            if is_last {
                return Err(Undecided::Ended);
            }
            // Cannot fail: this struct owns the sender.
            let _ = deciders.changed().await;
        }
    }
}

#[async_trait]
impl Decider for Succession {
    async fn command(&self, command: Command) -> Result<Vec<Arc<Recorded>>, Undecided> {
        self.ask(|decider| {
            let command = command.clone();
            async move { decider.command(command).await }
        })
        .await
    }

    async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Arc<Recorded>>, Undecided> {
        self.ask(|decider| {
            let conversation = conversation.clone();
            async move { decider.checkpoint(effect, report, conversation).await }
        })
        .await
    }

    async fn look(&self, look: Look) -> Result<Looked, Undecided> {
        self.ask(|decider| {
            let look = look.clone();
            async move { decider.look(look).await }
        })
        .await
    }

    async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, Undecided> {
        self.ask(|decider| {
            let spec = spec.clone();
            let action = Arc::clone(&action);
            async move { decider.mutate(effect, spec, action).await }
        })
        .await
    }
}

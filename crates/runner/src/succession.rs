//! Those who decide, one after another: when the process that held the project ends, the next one
//! decides about what is performed here.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{Command, EffectId, Progress, Recorded};
use unstuck_core::plan::MutationSpec;
use unstuck_store::Conversation;

use crate::decider::{Decider, Look, Looked, Undecided};
use crate::ledger::{Action, Settled};

/// The decider of now. What one that ended did not decide is asked of the next; whatever it had
/// recorded without saying so is recognised by its effect or its key.
#[derive(Clone, Default)]
pub struct Succession(watch::Sender<Line>);

#[derive(Clone, Default)]
struct Line {
    /// Who decides now.
    decider: Option<Arc<dyn Decider>>,
    /// There is no one after that.
    is_last: bool,
}

impl Succession {
    /// From now on this one decides.
    pub fn succeed(&self, next: Arc<dyn Decider>) {
        self.0.send_replace(Line { decider: Some(next), is_last: false });
    }

    /// Whoever decides now is the last one: what they leave undecided stays so.
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
            // We hold the other end, so it is not gone.
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
            let (spec, action) = (spec.clone(), Arc::clone(&action));
            async move { decider.mutate(effect, spec, action).await }
        })
        .await
    }
}

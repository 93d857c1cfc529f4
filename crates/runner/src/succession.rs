//! Successive deciders: when the holder of the project ends, the next holder decides about the
//! effects that are performed in this process.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{Command, EffectId, ProgressReport, RecordedEvent};
use unstuck_core::plan::MutationSpec;
use unstuck_store::StoredConversation;

use crate::decider::{DecideError, Decider, StateQuery, StateQueryResult};
use crate::ledger::{ActionResult, LedgerAction};

/// The current decider. A request that a holder left undecided when it ended is sent to the next
/// one; a decision that the holder recorded without a reply is recognized by its effect or key.
#[derive(Clone, Default)]
pub struct DeciderSuccession(watch::Sender<CurrentDecider>);

#[derive(Clone, Default)]
struct CurrentDecider {
    /// The current decider, once there is one.
    decider: Option<Arc<dyn Decider>>,
    /// Set when no further decider follows.
    is_last: bool,
}

impl DeciderSuccession {
    /// Makes `next` the current decider.
    pub fn set_decider(&self, next: Arc<dyn Decider>) {
        self.0.send_replace(CurrentDecider { decider: Some(next), is_last: false });
    }

    /// Makes the current decider the last one: requests it leaves undecided fail.
    pub fn close(&self) {
        self.0.send_modify(|line| line.is_last = true);
    }

    async fn ask_decider<T, A>(&self, ask: impl Fn(Arc<dyn Decider>) -> A) -> Result<T, DecideError>
    where
        A: Future<Output = Result<T, DecideError>>,
    {
        let mut deciders = self.0.subscribe();
        loop {
            let CurrentDecider { decider, is_last } = deciders.borrow_and_update().clone();
            if let Some(decider) = decider {
                match ask(decider).await {
                    Err(DecideError::Ended) => {}
                    answer => return answer,
                }
            }
            if is_last {
                return Err(DecideError::Ended);
            }
            // Cannot fail: this struct owns the sender.
            let _ = deciders.changed().await;
        }
    }
}

#[async_trait]
impl Decider for DeciderSuccession {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        self.ask_decider(|decider| {
            let command = command.clone();
            async move { decider.submit_command(command).await }
        })
        .await
    }

    async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        self.ask_decider(|decider| {
            let conversation = conversation.clone();
            async move { decider.record_checkpoint(effect, report, conversation).await }
        })
        .await
    }

    async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, DecideError> {
        self.ask_decider(|decider| {
            let look = look.clone();
            async move { decider.query_state(look).await }
        })
        .await
    }

    async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, DecideError> {
        self.ask_decider(|decider| {
            let spec = spec.clone();
            let action = Arc::clone(&action);
            async move { decider.perform_action(effect, spec, action).await }
        })
        .await
    }
}

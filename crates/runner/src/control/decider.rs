//! The client of the control socket as a [`Decider`].

use std::sync::Arc;

use async_trait::async_trait;
use unstuck_core::engine::{Command, EffectId, ProgressReport, RecordedEvent};
use unstuck_core::fault::{Fault, Internal};
use unstuck_core::plan::MutationSpec;
use unstuck_store::StoredConversation;

use super::client::{ClientError, ControlClient};
use super::wire::ControlRefusal;
use crate::decider::{DecideError, Decider, StateQuery, StateQueryResult};
use crate::ledger::{ActionResult, LedgerAction};

#[async_trait]
impl Decider for ControlClient {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        Ok(share_events(self.submit_command(command).await?))
    }

    async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        Ok(share_events(self.record_checkpoint(effect, report, conversation).await?))
    }

    async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, DecideError> {
        Ok(self.query_state(look).await?)
    }

    async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, DecideError> {
        Ok(self.perform_action(effect, spec, action).await?)
    }
}

fn share_events(events: Vec<RecordedEvent>) -> Vec<Arc<RecordedEvent>> {
    events.into_iter().map(Arc::new).collect()
}

impl From<ClientError> for DecideError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Gone | ClientError::Refused { why: ControlRefusal::Ended, .. } => {
                Self::Ended
            }
            ClientError::Refused { why: ControlRefusal::Stale, .. } => Self::Stale,
            ClientError::Refused { why: ControlRefusal::Store, message } => {
                let context = Internal { component: "store".to_owned() };
                Self::Store(Box::new(Fault::internal_store("store", message, context)))
            }
            ClientError::Refused { why: ControlRefusal::KeyReused, message } => {
                Self::KeyReused(message)
            }
            ClientError::Refused { why: ControlRefusal::RequestReused, message } => {
                Self::RequestReused(message)
            }
            ClientError::Refused { message, .. } => Self::Refused(message),
        }
    }
}

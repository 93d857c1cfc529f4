//! The queue of decisions that are not durable yet, in journal order.
//!
//! Effects, replies and even refusals wait for their turn here, because a refusal may rest on a
//! decision that is not on disk yet.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use unstuck_core::engine::{Command, CommandRejection, RecordedEvent};
use unstuck_store::StoreError;

use crate::handle::CommandReply;
use crate::notice::RunnerNotice;
use crate::work::DecisionStep;

/// A future that resolves when a batch is durable.
pub(crate) type DurableFuture = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A decision that is not durable yet.
pub(crate) struct PendingDecision {
    /// Resolves when the decision is durable; `None` for a decision without events, which needs no
    /// write.
    pub(crate) durable: Option<DurableFuture>,
    /// The result of an effect, submitted again if this write fails.
    pub(crate) result: Option<Command>,
    pub(crate) events: Arc<[Arc<RecordedEvent>]>,
    pub(crate) rejected: Option<CommandRejection>,
    pub(crate) steps: Vec<DecisionStep>,
    pub(crate) notices: Vec<RunnerNotice>,
    pub(crate) reply: Option<CommandReply>,
}

/// The queue of decisions that are not durable yet.
#[derive(Default)]
pub(crate) struct PendingDecisions(VecDeque<PendingDecision>);

impl PendingDecisions {
    pub(crate) fn push(&mut self, entry: PendingDecision) {
        self.0.push_back(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the oldest decision once it is durable, or the error of its write. Cancel safe.
    pub(crate) async fn next_durable(&mut self) -> Result<Option<PendingDecision>, StoreError> {
        if let Some(durable) = self.0.front_mut().and_then(|entry| entry.durable.as_mut()) {
            durable.await?;
        }
        Ok(self.0.pop_front())
    }

    /// Removes all decisions that have not become durable, oldest first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = PendingDecision> {
        self.0.drain(..)
    }
}

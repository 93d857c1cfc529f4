//! The queue of decisions that are not durable yet, in journal order.
//!
//! Effects, replies and even refusals wait for their turn here, because a refusal may rest on a
//! decision that is not on disk yet.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use unstuck_core::engine::{Command, CommandRejection, EffectId, RecordedEvent};
use unstuck_store::StoreError;

use super::handle::{CommandReply, RunnerNotice};
use crate::effects::EffectRequest;

/// A future that resolves when a batch is durable.
pub(super) type DurableFuture = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A decision that is not durable yet.
pub(super) struct PendingDecision {
    /// Resolves when the decision is durable; `None` for a decision without events, which needs no
    /// write.
    pub(super) durable: Option<DurableFuture>,
    /// The result of an effect, submitted again if this write fails.
    pub(super) result: Option<Command>,
    pub(super) events: Arc<[Arc<RecordedEvent>]>,
    pub(super) rejected: Option<CommandRejection>,
    pub(super) steps: Vec<DecisionStep>,
    pub(super) notices: Vec<RunnerNotice>,
    pub(super) reply: Option<CommandReply>,
}

/// The queue of decisions that are not durable yet.
#[derive(Default)]
pub(super) struct PendingDecisions(VecDeque<PendingDecision>);

impl PendingDecisions {
    pub(super) fn push(&mut self, entry: PendingDecision) {
        self.0.push_back(entry);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the oldest decision once it is durable, or the error of its write. Cancel safe.
    pub(super) async fn next_durable(&mut self) -> Result<Option<PendingDecision>, StoreError> {
        if let Some(durable) = self.0.front_mut().and_then(|entry| entry.durable.as_mut()) {
            durable.await?;
        }
        Ok(self.0.pop_front())
    }

    /// Removes all decisions that have not become durable, oldest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingDecision> {
        self.0.drain(..)
    }
}

/// A step that follows from a durable decision.
#[derive(Clone, Debug)]
pub(super) enum DecisionStep {
    Perform(Box<EffectRequest>),
    /// Stops the effect, because its result is no longer wanted.
    Stop(EffectId),
}

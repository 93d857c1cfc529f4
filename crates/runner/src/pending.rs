//! Decisions that are on their way to the disk, in their order.
//!
//! Nothing leaves here before its turn: not an effect, not a reply, not even a refusal, because a
//! refusal may rest on a decision that is not on disk yet.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use unstuck_core::engine::{Command, Recorded, Rejected};
use unstuck_store::StoreError;

use crate::handle::Reply;
use crate::notice::Notice;
use crate::work::Step;

/// Resolves when a batch is durable.
pub(crate) type Durable = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A decision that is on its way to the disk.
pub(crate) struct Entry {
    /// When it is durable; a decision without events is as soon as it is its turn.
    pub(crate) durable: Option<Durable>,
    /// The result of an effect, which is submitted again if this cannot be written.
    pub(crate) result: Option<Command>,
    pub(crate) events: Arc<[Arc<Recorded>]>,
    pub(crate) rejected: Option<Rejected>,
    pub(crate) steps: Vec<Step>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) reply: Option<Reply>,
}

/// The decisions that are on their way.
#[derive(Default)]
pub(crate) struct Pending(VecDeque<Entry>);

impl Pending {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.0.push_back(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The oldest decision, once it is durable, or the error that kept it from being so. Nothing
    /// is lost when this is not waited for to its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Entry>, StoreError> {
        if let Some(durable) = self.0.front_mut().and_then(|entry| entry.durable.as_mut()) {
            durable.await?;
        }
        Ok(self.0.pop_front())
    }

    /// Everything that has not become durable, oldest first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Entry> {
        self.0.drain(..)
    }
}

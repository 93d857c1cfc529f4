//! The single writer of a project in memory.

use std::fmt;

use async_trait::async_trait;
use unstuck_core::engine::State;
use unstuck_core::time::Time;

use super::content::ProjectContent;
use super::{AT, MemoryStore};
use crate::error::StoreError;
use crate::snapshot::{JournalTail, serialize_snapshot};
use crate::store::{Answer, Batch, Journal, Receipt};

pub(super) struct MemoryJournal {
    store: MemoryStore,
    project: String,
    epoch: u64,
    tail: JournalTail,
    /// The error after which no more batches can be written.
    broken: Option<StoreError>,
}

impl MemoryJournal {
    pub(super) fn new(store: MemoryStore, project: &str, epoch: u64, tail: JournalTail) -> Self {
        Self { store, project: project.to_owned(), epoch, tail, broken: None }
    }

    fn write_batch(&mut self, batch: Batch) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let mut shared = self.store.lock();
        if let Some(error) = shared.failures.pop() {
            return Err(error);
        }
        if shared.full {
            return Err(StoreError::Full { at: AT.to_owned() });
        }
        let project = shared.projects.entry(self.project.clone()).or_default();
        let last = project.content.write_batch(self.epoch, batch, &mut self.tail)?;
        project.written.send_replace(last);
        Ok(())
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn append_batch(&mut self, batch: Batch) -> Receipt {
        let result = self.write_batch(batch);
        self.broken = result.as_ref().err().cloned();
        Receipt::from_verdict(result)
    }

    fn is_snapshot_due(&self) -> bool {
        self.tail.is_due()
    }

    async fn load_pending_answers(&mut self) -> Result<Vec<Answer>, StoreError> {
        Ok(self.store.read_content(&self.project, ProjectContent::pending_answers))
    }

    async fn prune_before(&mut self, before: Time) -> Result<u64, StoreError> {
        let mut shared = self.store.lock();
        let project = shared.projects.entry(self.project.clone()).or_default();
        project.content.prune_before(self.epoch, before)
    }

    async fn close(mut self: Box<Self>, state: &State) -> Result<(), StoreError> {
        let snapshot = self.tail.is_worth_closing().then(|| serialize_snapshot(state));
        self.write_batch(Batch { snapshot, ..Batch::default() })?;
        let mut shared = self.store.lock();
        let project = shared.projects.entry(self.project.clone()).or_default();
        project.content.close_cleanly(self.epoch)
    }
}

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        let mut shared = self.store.lock();
        if let Some(project) = shared.projects.get_mut(&self.project) {
            project.holder = None;
        }
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").field("project", &self.project).finish_non_exhaustive()
    }
}

//! The single writer of a project in memory.

use std::fmt;

use async_trait::async_trait;
use unstuck_core::engine::State;
use unstuck_core::time::Time;

use super::content::Content;
use super::{AT, MemoryStore};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::snapshot::{Tail, snapshot};
use crate::store::{Answer, Journal, Receipt};

pub(super) struct MemoryJournal {
    store: MemoryStore,
    project: String,
    epoch: u64,
    tail: Tail,
    /// The error after which no more batches can be written.
    broken: Option<StoreError>,
}

impl MemoryJournal {
    pub(super) fn new(store: MemoryStore, project: &str, epoch: u64, tail: Tail) -> Self {
        Self { store, project: project.to_owned(), epoch, tail, broken: None }
    }

    fn write(&mut self, batch: Batch) -> Result<(), StoreError> {
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
        let last = project.content.write(self.epoch, batch, &mut self.tail)?;
        project.written.send_replace(last);
        Ok(())
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn append(&mut self, batch: Batch) -> Receipt {
        let result = self.write(batch);
        self.broken = result.as_ref().err().cloned();
        Receipt::settled(result)
    }

    fn snapshot_due(&self) -> bool {
        self.tail.is_due()
    }

    async fn answers(&mut self) -> Result<Vec<Answer>, StoreError> {
        Ok(self.store.read(&self.project, Content::answers_waiting))
    }

    async fn retain(&mut self, before: Time) -> Result<u64, StoreError> {
        let mut shared = self.store.lock();
        let project = shared.projects.entry(self.project.clone()).or_default();
        project.content.retain(self.epoch, before)
    }

    async fn close(mut self: Box<Self>, state: &State) -> Result<(), StoreError> {
        let snapshot = self.tail.is_worth_closing().then(|| snapshot(state));
        self.write(Batch { snapshot, ..Batch::default() })?;
        let mut shared = self.store.lock();
        let project = shared.projects.entry(self.project.clone()).or_default();
        project.content.let_go(self.epoch)
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

//! The single writer of a project in SQLite.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;
use unstuck_core::engine::State;
use unstuck_core::time::Time;

use super::SqliteStoreInner;
use super::desk::WriterState;
use super::lock::ProjectLock;
use super::retain;
use super::rows::BatchRows;
use super::table::answer;
use super::writer::QueuedBatch;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::snapshot::{JournalTail, serialize_snapshot as written_down};
use crate::store::{Answer, Journal, Receipt};

pub(super) struct SqliteJournal {
    pub(super) shared: Arc<SqliteStoreInner>,
    pub(super) project: i64,
    pub(super) epoch: i64,
    pub(super) tail: JournalTail,
    /// The lock, held as long as the project is claimed.
    pub(super) _lock: ProjectLock,
}

#[async_trait]
impl Journal for SqliteJournal {
    fn append_batch(&mut self, batch: Batch) -> Receipt {
        let rows = match BatchRows::from_batch(batch) {
            Ok(rows) => Box::new(rows),
            Err(error) => {
                let at = self.shared.display_path();
                let cause = error.to_string();
                return Receipt::from_verdict(Err(StoreError::NotWritten { at, cause }));
            }
        };
        self.tail.add_events(rows.events_bytes());
        if let Some(bytes) = rows.snapshot_bytes() {
            self.tail.reset_to_snapshot(bytes);
        }
        let (reply, receipt) = oneshot::channel();
        let project = self.project;
        let epoch = self.epoch;
        self.shared.writer.queue_batch(QueuedBatch { project, epoch, rows, reply });
        Receipt(receipt)
    }

    fn is_snapshot_due(&self) -> bool {
        self.tail.is_due()
    }

    async fn load_pending_answers(&mut self) -> Result<Vec<Answer>, StoreError> {
        let project = self.project;
        let look = move |desk: &mut WriterState| {
            desk.read_data(|conn| Ok(answer::load_pending(conn, project)?))
        };
        self.shared.writer.run_work(look).await
    }

    async fn prune_before(&mut self, before: Time) -> Result<u64, StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let writer = &self.shared.writer;
        let mut dropped = 0;
        loop {
            let step = writer.run_work(move |desk| {
                desk.run_as_holder(project, epoch, |conn| {
                    retain::prune_events(conn, project, before)
                })
            });
            let step = step.await?;
            dropped += step;
            if !retain::may_have_left(step) {
                break;
            }
        }
        let builds = writer.run_work(move |desk| {
            desk.run_as_holder(project, epoch, |conn| retain::prune_builds(conn, project, before))
        });
        builds.await?;
        Ok(dropped)
    }

    async fn close(self: Box<Self>, state: &State) -> Result<(), StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let body = self.tail.is_worth_closing().then(|| written_down(state));
        self.shared
            .writer
            .run_work(move |desk| desk.close_project(project, epoch, body.as_deref()))
            .await
    }
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal")
            .field("at", &self.shared.path)
            .field("project", &self.project)
            .finish_non_exhaustive()
    }
}

//! The single writer of a project in SQLite.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;
use unstuck_core::engine::State;
use unstuck_core::time::Time;

use super::Shared;
use super::desk::Desk;
use super::lock::Lock;
use super::retain;
use super::rows::Rows;
use super::table::answer;
use super::writer::Append;
use crate::batch::Batch;
use crate::error::StoreError;
use crate::snapshot::{Tail, snapshot as written_down};
use crate::store::{Answer, Journal, Receipt};

pub(super) struct SqliteJournal {
    pub(super) shared: Arc<Shared>,
    pub(super) project: i64,
    pub(super) epoch: i64,
    pub(super) tail: Tail,
    /// The lock, held as long as the project is claimed.
    pub(super) _lock: Lock,
}

#[async_trait]
impl Journal for SqliteJournal {
    fn append(&mut self, batch: Batch) -> Receipt {
        let rows = match Rows::of(batch) {
            Ok(rows) => Box::new(rows),
            Err(error) => {
                let at = self.shared.at();
                let cause = error.to_string();
                return Receipt::settled(Err(StoreError::NotWritten { at, cause }));
            }
        };
        self.tail.grow(rows.events_bytes());
        if let Some(bytes) = rows.snapshot_bytes() {
            self.tail.cut(bytes);
        }
        let (reply, receipt) = oneshot::channel();
        let project = self.project;
        let epoch = self.epoch;
        self.shared.writer.append(Append { project, epoch, rows, reply });
        Receipt(receipt)
    }

    fn snapshot_due(&self) -> bool {
        self.tail.is_due()
    }

    async fn answers(&mut self) -> Result<Vec<Answer>, StoreError> {
        let project = self.project;
        let look = move |desk: &mut Desk| desk.read(|conn| Ok(answer::waiting(conn, project)?));
        self.shared.writer.run(look).await
    }

    async fn retain(&mut self, before: Time) -> Result<u64, StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let writer = &self.shared.writer;
        let mut dropped = 0;
        loop {
            let step = writer.run(move |desk| {
                desk.as_holder(project, epoch, |conn| retain::events(conn, project, before))
            });
            let step = step.await?;
            dropped += step;
            if !retain::may_have_left(step) {
                break;
            }
        }
        let builds = writer.run(move |desk| {
            desk.as_holder(project, epoch, |conn| retain::builds(conn, project, before))
        });
        builds.await?;
        Ok(dropped)
    }

    async fn close(self: Box<Self>, state: &State) -> Result<(), StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let body = self.tail.is_worth_closing().then(|| written_down(state));
        self.shared.writer.run(move |desk| desk.let_go(project, epoch, body.as_deref())).await
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

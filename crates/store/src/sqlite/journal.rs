//! The single writer of a project in SQLite.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, params};
use tokio::sync::oneshot;
use unstuck_core::engine::State;
use unstuck_core::time::Time;

use super::SqliteStoreInner;
use super::lock::ProjectLock;
use super::rows::{BatchRows, QueuedBatch};
use super::table::{event, question};
use super::value::to_sql_time;
use super::writer_state::WriterState;
use crate::error::StoreError;
use crate::snapshot::{JournalTail, serialize_snapshot};
use crate::store::{Answer, Batch, Journal, Receipt};

/// Maximum number of events deleted per transaction, so that batches wait for one such step at most.
const STEP_EVENTS: u32 = 2_000;

/// The writer of a claimed project.
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
        let look = move |state: &mut WriterState| {
            state.read_data(|conn| Ok(question::load_pending_answers(conn, project)?))
        };
        self.shared.writer.run_work(look).await
    }

    async fn prune_before(&mut self, before: Time) -> Result<u64, StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let writer = &self.shared.writer;
        let mut dropped = 0;
        loop {
            let step = writer.run_work(move |state| {
                state.run_as_holder(project, epoch, |conn| prune_events(conn, project, before))
            });
            let step = step.await?;
            dropped += step;
            if step < u64::from(STEP_EVENTS) {
                break;
            }
        }
        let builds = writer.run_work(move |state| {
            state.run_as_holder(project, epoch, |conn| prune_builds(conn, project, before))
        });
        builds.await?;
        Ok(dropped)
    }

    async fn close(self: Box<Self>, state: &State) -> Result<(), StoreError> {
        let project = self.project;
        let epoch = self.epoch;
        let body = self.tail.is_worth_closing().then(|| serialize_snapshot(state));
        self.shared
            .writer
            .run_work(move |state| state.close_project(project, epoch, body.as_deref()))
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

/// Deletes some of the oldest events from before `before`, and returns their number. Events that the older of
/// two snapshots needs stay, and while there is only one snapshot, all events stay.
fn prune_events(conn: &Connection, project: i64, before: Time) -> rusqlite::Result<u64> {
    let kept = event::load_snapshot_positions(conn, project)?;
    let Some(&needed) = kept.get(usize::from(event::SNAPSHOTS_KEPT) - 1) else { return Ok(0) };
    event::delete_oldest_events(conn, project, needed, before, STEP_EVENTS)
}

/// Deletes builds that ended before `before`, with everything that belongs to them. The latest build stays:
/// it can be revived until another one starts.
fn prune_builds(conn: &Connection, project: i64, before: Time) -> rusqlite::Result<()> {
    conn.execute(
        "DELETE FROM builds WHERE project = ?1 AND ended_at < ?2 AND standing = 0
         AND id < (SELECT max(id) FROM builds WHERE project = ?1 AND standing = 0)",
        params![project, to_sql_time(before)],
    )?;
    for orphans in [
        "DELETE FROM tasks WHERE project = ?1
         AND build NOT IN (SELECT id FROM builds WHERE project = ?1)",
        "DELETE FROM runs WHERE project = ?1
         AND task NOT IN (SELECT id FROM tasks WHERE project = ?1)",
        "DELETE FROM mutations WHERE project = ?1
         AND task NOT IN (SELECT id FROM tasks WHERE project = ?1)",
        "DELETE FROM questions WHERE project = ?1 AND build IS NOT NULL
         AND build NOT IN (SELECT id FROM builds WHERE project = ?1)",
        "DELETE FROM answers WHERE project = ?1
         AND question NOT IN (SELECT id FROM questions WHERE project = ?1)",
    ] {
        conn.execute(orphans, [project])?;
    }
    Ok(())
}

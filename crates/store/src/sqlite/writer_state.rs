//! The state of the writer's thread: the connection, and the claimed projects.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::watch;
use unstuck_core::engine::DoubtedAction;

use super::fail::{self, FailedOperation};
use super::files::log_path;
use super::mark::JournalMark;
use super::open::{self, DatabaseFacts, MarkPolicy};
use super::readers::ReadError;
use super::rows::QueuedBatch;
use super::table::{event, project};
use super::verify::JournalTip;
use crate::crash;
use crate::error::StoreError;
use crate::store::BatchReply;

/// Maximum size of the WAL left beside the file at a clean end.
const LOG_BYTES_LEFT: u64 = 1024 * 1024;
/// The maximum time, approximately, that data is in the WAL alone.
const FOLD_EVERY: Duration = Duration::from_mins(1);

/// The new ends of the journals a transaction writes to, or the reason why one may not be written to.
type JournalTips = HashMap<i64, Result<JournalTip, StoreError>>;

/// The state of the writer's thread.
#[derive(Debug)]
pub(super) struct WriterState {
    conn: Connection,
    pub(super) at: PathBuf,
    /// Projects claimed in this process.
    pub(super) taken: HashMap<i64, ClaimedProject>,
    /// The result of the background check; nothing is written on top of damage.
    found: Arc<OnceLock<Result<(), StoreError>>>,
    /// The facts at opening, including whether a journal that lost something is accepted.
    pub(super) opened: DatabaseFacts,
}

#[derive(Debug)]
pub(super) struct ClaimedProject {
    pub(super) epoch: i64,
    pub(super) tip: JournalTip,
    /// The mark that records the position of the journal.
    pub(super) mark: JournalMark,
    /// The error after which nothing can be written until the project is claimed again.
    pub(super) failed: Option<StoreError>,
    pub(super) written: watch::Sender<u64>,
}

impl WriterState {
    pub(super) fn new(
        conn: Connection,
        at: PathBuf,
        found: Arc<OnceLock<Result<(), StoreError>>>,
        opened: DatabaseFacts,
    ) -> Self {
        Self { conn, at, taken: HashMap::new(), found, opened }
    }

    /// Folds the WAL into the file when the connection closes, if it is long or was not folded for a while.
    /// Otherwise it is left beside the file: folding it, and beginning another one at the next opening, are
    /// two waits for the disk each; reading it then costs almost nothing.
    pub(super) fn fold_log(&mut self) {
        let bytes = fs::metadata(log_path(&self.at)).map_or(0, |log| log.len());
        if bytes > LOG_BYTES_LEFT {
            // If it cannot be folded, it stays.
            self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).ok();
        } else if bytes > 0 && (self.opened.is_new || was_folded_long_ago(&self.at)) {
            self.fold_log_passively();
        }
    }

    /// Folds the WAL into the file, as far as no process reads older parts of it.
    fn fold_log_passively(&mut self) {
        let whole = |row: &rusqlite::Row<'_>| {
            let in_log = row.get::<_, i64>(1)?;
            let folded = row.get::<_, i64>(2)?;
            Ok(in_log == folded)
        };
        // If it cannot be folded, it stays.
        if self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], whole).unwrap_or(false) {
            self.taken.values_mut().for_each(|taken| taken.mark.drop_actions());
        }
    }

    /// Checks that no damage is known, and that the data can be read.
    pub(super) fn check_usable(&self) -> Result<(), StoreError> {
        self.check_undamaged()?;
        let one = "SELECT count(*) FROM projects";
        self.read_data(|conn| Ok(conn.query_row(one, [], |row| row.get::<_, u32>(0)).map(drop)?))
    }

    /// Runs work in a transaction of its own.
    pub(super) fn run_transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.check_undamaged()?;
        let result = begin_transaction(&self.conn).and_then(|()| work(&self.conn));
        let result = result.and_then(|done| commit_transaction(&self.conn).map(|()| done));
        result.map_err(|error| self.roll_back(&error))
    }

    /// Runs work in a transaction that becomes durable together with the next one that is waited for, and
    /// never without what came before it. For writes on which no action depends directly.
    pub(super) fn run_transaction_without_sync<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        open::set_wait_for_disk(&self.conn, false).map_err(|error| self.roll_back(&error))?;
        let done = self.run_transaction(work);
        open::set_wait_for_disk(&self.conn, true).map_err(|error| self.roll_back(&error))?;
        done
    }

    /// Reads data on the writer's connection.
    pub(super) fn read_data<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, StoreError> {
        look(&self.conn).map_err(|error| error.into_store_error(&self.at))
    }

    /// Runs work that only the holder of the project may do.
    pub(super) fn run_as_holder<T>(
        &mut self,
        id: i64,
        epoch: i64,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.check_held(id, epoch)?;
        let at = self.at.display().to_string();
        self.run_transaction(|conn| run_if_held(conn, id, epoch, at, work))?
    }

    /// Closes a project cleanly, with a snapshot if it is worthwhile.
    pub(super) fn close_project(
        &mut self,
        id: i64,
        epoch: i64,
        body: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let last = self.check_held(id, epoch)?.seq;
        let at = self.at.display().to_string();
        let close = |conn: &Connection| {
            body.map_or(Ok(()), |body| event::insert_snapshot(conn, id, last, body))?;
            project::mark_clean(conn, id)
        };
        // Without waiting for the disk: if it is lost in a power failure, the next holder only checks the
        // file once more.
        self.run_transaction_without_sync(|conn| run_if_held(conn, id, epoch, at, close))?
    }

    /// Writes batches in one transaction, reports the result of each, and returns their number. A batch that
    /// may not be written is left out before anything of it is written; if the disk fails, all fail.
    pub(super) fn commit_group(&mut self, group: &mut impl Iterator<Item = QueuedBatch>) -> usize {
        let mut taken = Vec::new();
        let mut verdicts = Vec::new();
        let sound = self.check_undamaged();
        let written = sound.and_then(|()| self.write_group(group, &mut taken, &mut verdicts));
        crash::crash_point();
        // The transaction is durable; an action that cannot be marked is not dispatched.
        let written = written.and_then(|tips| self.write_marks(&taken, tips));
        crash::crash_point();
        if let Err(error) = written {
            if taken.is_empty() {
                // The remaining batches get their result from the next transaction.
                taken.extend(group.next());
            }
            verdicts.clear();
            verdicts.resize(taken.len(), Err(error));
        }
        for (append, verdict) in taken.iter().zip(&verdicts) {
            self.record_verdict(append, verdict);
        }
        let count = taken.len();
        for (append, verdict) in taken.into_iter().zip(verdicts) {
            append.reply.send(BatchReply { verdict, _written: Some(append.rows) }).ok();
        }
        if was_folded_long_ago(&self.at) {
            self.fold_log_passively();
        }
        count
    }

    /// Writes the positions of the journals to their marks. They are on disk before an action is dispatched.
    fn write_marks(
        &mut self,
        written: &[QueuedBatch],
        tips: JournalTips,
    ) -> Result<(), StoreError> {
        let mut let_go: HashMap<i64, Vec<(u64, DoubtedAction)>> = HashMap::new();
        for append in written {
            let project = append.project;
            let actions =
                self.read_data(|conn| Ok(append.rows.find_dispatched_actions(conn, project)?))?;
            let_go.entry(project).or_default().extend(actions);
        }
        for (project, tip) in tips {
            let (Ok(tip), Some(taken)) = (tip, self.taken.get_mut(&project)) else { continue };
            let actions = let_go.remove(&project).unwrap_or_default();
            let waits = !actions.is_empty() || self.opened.marks == MarkPolicy::DoNotCount;
            for (seq, action) in actions {
                taken.mark.add_action(seq, action)?;
            }
            taken.mark.write_position(tip.to_position(taken.epoch))?;
            if waits {
                taken.mark.wait_for_disk()?;
            }
            taken.tip = tip;
        }
        Ok(())
    }

    /// Writes the batches in order.
    fn write_group(
        &self,
        group: &mut impl Iterator<Item = QueuedBatch>,
        taken: &mut Vec<QueuedBatch>,
        verdicts: &mut Vec<Result<(), StoreError>>,
    ) -> Result<JournalTips, StoreError> {
        let mut tips = JournalTips::new();
        let result = begin_transaction(&self.conn).and_then(|()| {
            for append in group {
                let append = taken.push_mut(append);
                verdicts.push(self.write_batch(append, &mut tips)?);
            }
            commit_transaction(&self.conn)
        });
        result.map(|()| tips).map_err(|error| self.roll_back(&error))
    }

    /// Writes a batch, or returns the reason why it may not be written.
    fn write_batch(
        &self,
        append: &QueuedBatch,
        tips: &mut JournalTips,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        let tip = match tips.remove(&append.project) {
            Some(tip) => tip,
            None => self.find_tip(append)?,
        };
        let tip = match tip.and_then(|tip| self.check_sequence(append, tip)) {
            Ok(tip) => Ok(append.rows.write_rows(&self.conn, append.project, tip)?),
            Err(error) => Err(error),
        };
        let verdict = tip.as_ref().map(drop).map_err(Clone::clone);
        tips.insert(append.project, tip);
        Ok(verdict)
    }

    /// Returns the end of a project's journal, if it may be written to.
    fn find_tip(&self, append: &QueuedBatch) -> rusqlite::Result<Result<JournalTip, StoreError>> {
        let tip = self.check_held(append.project, append.epoch);
        let epoch = project::load_epoch(&self.conn, append.project)?;
        let fenced = || StoreError::Fenced { at: self.at.display().to_string() };
        Ok(tip.and_then(|tip| if epoch == append.epoch { Ok(tip) } else { Err(fenced()) }))
    }

    fn check_held(&self, id: i64, epoch: i64) -> Result<JournalTip, StoreError> {
        match self.taken.get(&id) {
            Some(taken) if taken.epoch == epoch => match &taken.failed {
                Some(error) => Err(error.clone()),
                None => Ok(taken.tip),
            },
            _ => Err(StoreError::Fenced { at: self.at.display().to_string() }),
        }
    }

    /// Checks that the events follow the journal without gaps.
    fn check_sequence(
        &self,
        append: &QueuedBatch,
        tip: JournalTip,
    ) -> Result<JournalTip, StoreError> {
        let mut expected = tip.seq + 1..;
        let gap = append.rows.events.iter().find_map(|event| {
            let expected = expected.next()?;
            (event.seq != expected).then_some((event.seq, expected))
        });
        match gap {
            None => Ok(tip),
            Some((found, expected)) => Err(StoreError::NotWritten {
                at: self.at.display().to_string(),
                cause: format!("event {found} was handed in where {expected} belongs"),
            }),
        }
    }

    /// Records the result for a project.
    fn record_verdict(&mut self, append: &QueuedBatch, verdict: &Result<(), StoreError>) {
        let Some(taken) = self.taken.get_mut(&append.project) else { return };
        if taken.epoch != append.epoch {
            return;
        }
        match (verdict, append.rows.events.last()) {
            (Err(error), _) => taken.failed = Some(error.clone()),
            (Ok(()), Some(event)) => {
                taken.written.send_replace(event.seq);
            }
            (Ok(()), None) => {}
        }
    }

    fn check_undamaged(&self) -> Result<(), StoreError> {
        match self.found.get() {
            Some(Err(damage @ StoreError::Damaged { .. })) => Err(damage.clone()),
            // A failed read is no evidence of damage.
            Some(_) | None => Ok(()),
        }
    }

    /// Rolls back a failed transaction and converts the error.
    fn roll_back(&self, error: &rusqlite::Error) -> StoreError {
        if !self.conn.is_autocommit() {
            // If even this fails, SQLite rolls back when the file is opened again.
            self.conn.execute_batch("ROLLBACK").ok();
        }
        fail::convert_sqlite_error(&self.at, FailedOperation::Writing, error)
    }
}

/// Returns whether the database file was not written for a while, which happens only by folding the WAL.
fn was_folded_long_ago(at: &Path) -> bool {
    let folded = fs::metadata(at).and_then(|found| found.modified()).ok();
    folded.and_then(|folded| folded.elapsed().ok()).is_some_and(|since| since >= FOLD_EVERY)
}

/// Runs work if the project still has this epoch.
fn run_if_held<T>(
    conn: &Connection,
    id: i64,
    epoch: i64,
    at: String,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<Result<T, StoreError>> {
    if project::load_epoch(conn, id)? == epoch {
        work(conn).map(Ok)
    } else {
        Ok(Err(StoreError::Fenced { at }))
    }
}

fn begin_transaction(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
}

fn commit_transaction(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("COMMIT")?.execute([]).map(drop)
}

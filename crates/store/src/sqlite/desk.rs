//! What the writer's thread works with: the connection, and who may write.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::watch;
use unstuck_core::engine::State;

use super::fail::{self, Doing};
use super::header::log_path;
use super::lock::Lock;
use super::readers::ReadError;
use super::table::{event, project, snapshot};
use super::writer::{Append, Group};
use super::{load, open};
use crate::crash;
use crate::error::StoreError;
use crate::snapshot::Tail;
use crate::store::{Holder, Settled};

/// The longest log that is left beside the file at a proper end.
const LOG_BYTES_LEFT: u64 = 1024 * 1024;

/// What the writer's thread works with.
#[derive(Debug)]
pub(super) struct Desk {
    conn: Connection,
    at: PathBuf,
    /// Projects that were taken here.
    taken: HashMap<i64, Taken>,
    /// What a check in the background found; nothing is written on top of damage.
    found: Arc<OnceLock<Result<(), StoreError>>>,
}

/// A project that was taken.
#[derive(Debug)]
struct Taken {
    epoch: i64,
    last: u64,
    /// Why nothing can be written until it is taken again.
    failed: Option<StoreError>,
    written: watch::Sender<u64>,
}

/// What whoever takes a project learns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) epoch: i64,
    pub(super) clean: bool,
    pub(super) last: u64,
}

/// A project that is locked, taken and read.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) id: i64,
    pub(super) lock: Lock,
    pub(super) start: Start,
    pub(super) state: State,
    pub(super) tail: Tail,
}

impl Desk {
    pub(super) fn new(
        conn: Connection,
        at: PathBuf,
        found: Arc<OnceLock<Result<(), StoreError>>>,
    ) -> Self {
        Self { conn, at, taken: HashMap::new(), found }
    }

    /// Has a long log brought into the file when the connection goes. A short one is left beside it:
    /// to bring it in, and to begin another one at the next opening, are two waits for the disk each;
    /// to read it then is next to nothing.
    pub(super) fn fold_long_log(&self) {
        let log = fs::metadata(log_path(&self.at));
        if log.is_ok_and(|log| log.len() > LOG_BYTES_LEFT) {
            // Where it cannot be brought in it stays.
            self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).ok();
        }
    }

    /// Does something in a transaction of its own.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.sound()?;
        let result = begin(&self.conn).and_then(|()| work(&self.conn));
        let result = result.and_then(|done| end(&self.conn).map(|()| done));
        result.map_err(|error| self.give_up(&error))
    }

    /// The same, durable together with the next transaction that is waited for, and never without
    /// what came before it. For what nobody acts on by itself.
    pub(super) fn transaction_in_passing<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        open::wait_for_disk(&self.conn, false).map_err(|error| self.give_up(&error))?;
        let done = self.transaction(work);
        open::wait_for_disk(&self.conn, true).map_err(|error| self.give_up(&error))?;
        done
    }

    /// Reads something.
    pub(super) fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, StoreError> {
        look(&self.conn).map_err(|error| error.at(&self.at))
    }

    /// Locks a project, takes it and reads what it adds up to. One that nobody knows is made.
    pub(super) fn claim(
        &mut self,
        name: &str,
        holder: &Holder,
        written: watch::Sender<u64>,
    ) -> Result<Claimed, StoreError> {
        let id = match self.read(|conn| Ok(project::find(conn, name)?))? {
            Some(id) => id,
            None => self.transaction_in_passing(|conn| project::make(conn, name))?,
        };
        let lock = Lock::take(&self.at, id, holder)?;
        let start = self.take(id, written)?;
        let load = |conn: &Connection| load::load(conn, &self.at, id, name, start.last);
        let (state, tail) = self.read(load)?;
        Ok(Claimed { id, lock, start, state, tail })
    }

    /// Takes a project: from now on nobody else writes.
    fn take(&mut self, id: i64, written: watch::Sender<u64>) -> Result<Start, StoreError> {
        // In passing: whoever takes it acts on nothing before its first batch is on disk.
        let start = self.transaction_in_passing(|conn| {
            let project::Taken { epoch, clean } = project::take(conn, id)?;
            let remembered = snapshot::positions(conn, id)?.first().copied().unwrap_or(0);
            Ok(Start { epoch, clean, last: event::last(conn, id)?.max(remembered) })
        })?;
        let taken = Taken { epoch: start.epoch, last: start.last, failed: None, written };
        taken.written.send_replace(start.last);
        self.taken.insert(id, taken);
        Ok(start)
    }

    /// Does something that only whoever holds the project may do.
    pub(super) fn as_holder<T>(
        &mut self,
        id: i64,
        epoch: i64,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.holds(id, epoch)?;
        let at = self.at.display().to_string();
        self.transaction(|conn| held(conn, id, epoch, at, work))?
    }

    /// Lets go of a project properly, with a snapshot where one is worth it.
    pub(super) fn let_go(
        &mut self,
        id: i64,
        epoch: i64,
        body: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let last = self.holds(id, epoch)?;
        let at = self.at.display().to_string();
        let close = |conn: &Connection| {
            body.map_or(Ok(()), |body| snapshot::put(conn, id, last, body))?;
            project::let_go(conn, id)
        };
        // In passing: if it is lost with the power, the next one looks through the file once more.
        self.transaction_in_passing(|conn| held(conn, id, epoch, at, close))?
    }

    /// Writes batches in one transaction, tells each how it went, and how many there were. One that
    /// may not be written is left out before anything of it is; when the disk fails, all fail.
    pub(super) fn commit(&mut self, group: &mut Group<'_>) -> usize {
        let (mut taken, mut verdicts) = (Vec::new(), Vec::new());
        let sound = self.sound();
        let written = sound.and_then(|()| self.write(group, &mut taken, &mut verdicts));
        crash::point();
        if let Err(error) = written {
            if taken.is_empty() {
                // The others are told by the next transaction.
                taken.extend(group.next());
            }
            verdicts.clear();
            verdicts.resize(taken.len(), Err(error));
        }
        for (append, verdict) in taken.iter().zip(&verdicts) {
            self.note(append, verdict);
        }
        let count = taken.len();
        for (append, verdict) in taken.into_iter().zip(verdicts) {
            append.reply.send(Settled { verdict, _written: Some(append.rows) }).ok();
        }
        count
    }

    /// Writes them as they come.
    fn write(
        &self,
        group: &mut Group<'_>,
        taken: &mut Vec<Append>,
        verdicts: &mut Vec<Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        let mut tips: HashMap<i64, Result<u64, StoreError>> = HashMap::new();
        let result = begin(&self.conn).and_then(|()| {
            for append in group {
                let append = taken.push_mut(append);
                verdicts.push(self.write_one(append, &mut tips)?);
            }
            end(&self.conn)
        });
        result.map_err(|error| self.give_up(&error))
    }

    /// Writes one batch, or says why it may not be.
    fn write_one(
        &self,
        append: &Append,
        tips: &mut HashMap<i64, Result<u64, StoreError>>,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        let tip = match tips.remove(&append.project) {
            Some(tip) => tip,
            None => self.tip(append)?,
        };
        let tip = tip.and_then(|last| self.follows(append, last));
        if let Ok(last) = tip {
            append.rows.put(&self.conn, append.project, last)?;
        }
        let tip = tip.map(|last| last + append.rows.events.len() as u64);
        let verdict = tip.as_ref().map(drop).map_err(Clone::clone);
        tips.insert(append.project, tip);
        Ok(verdict)
    }

    /// The position of the last event of a project, if it may be written to.
    fn tip(&self, append: &Append) -> rusqlite::Result<Result<u64, StoreError>> {
        let last = self.holds(append.project, append.epoch);
        let epoch = project::epoch(&self.conn, append.project)?;
        let fenced = || StoreError::Fenced { at: self.at.display().to_string() };
        Ok(last.and_then(|last| if epoch == append.epoch { Ok(last) } else { Err(fenced()) }))
    }

    fn holds(&self, id: i64, epoch: i64) -> Result<u64, StoreError> {
        match self.taken.get(&id) {
            Some(taken) if taken.epoch == epoch => match &taken.failed {
                Some(error) => Err(error.clone()),
                None => Ok(taken.last),
            },
            _ => Err(StoreError::Fenced { at: self.at.display().to_string() }),
        }
    }

    /// Events follow each other without gaps; anything else must not get into the journal.
    fn follows(&self, append: &Append, last: u64) -> Result<u64, StoreError> {
        let mut expected = last + 1..;
        let gap = append.rows.events.iter().find_map(|event| {
            let expected = expected.next()?;
            (event.seq != expected).then_some((event.seq, expected))
        });
        match gap {
            None => Ok(last),
            Some((found, expected)) => Err(StoreError::NotWritten {
                at: self.at.display().to_string(),
                cause: format!("event {found} was handed in where {expected} belongs"),
            }),
        }
    }

    /// Remembers how it went for a project.
    fn note(&mut self, append: &Append, verdict: &Result<(), StoreError>) {
        let Some(taken) = self.taken.get_mut(&append.project) else { return };
        if taken.epoch != append.epoch {
            return;
        }
        match (verdict, append.rows.events.last()) {
            (Err(error), _) => taken.failed = Some(error.clone()),
            (Ok(()), Some(event)) => {
                taken.last = event.seq;
                taken.written.send_replace(event.seq);
            }
            (Ok(()), None) => {}
        }
    }

    fn sound(&self) -> Result<(), StoreError> {
        match self.found.get() {
            Some(Err(damage @ StoreError::Damaged { .. })) => Err(damage.clone()),
            // That it could not be read just then says nothing about what it holds.
            Some(_) | None => Ok(()),
        }
    }

    /// Takes back what a failed transaction may have left and says what happened.
    fn give_up(&self, error: &rusqlite::Error) -> StoreError {
        if !self.conn.is_autocommit() {
            // Where even this fails SQLite takes it back when the file is opened again.
            self.conn.execute_batch("ROLLBACK").ok();
        }
        fail::sqlite(&self.at, Doing::Writing, error)
    }
}

/// Does something if the project is still of this epoch.
fn held<T>(
    conn: &Connection,
    id: i64,
    epoch: i64,
    at: String,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<Result<T, StoreError>> {
    if project::epoch(conn, id)? == epoch {
        work(conn).map(Ok)
    } else {
        Ok(Err(StoreError::Fenced { at }))
    }
}

fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
}

fn end(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("COMMIT")?.execute([]).map(drop)
}

//! What the writer's thread works with: the connection, and who may write.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::watch;
use unstuck_core::engine::{DoubtedAction, State};

use super::fail::{self, Doing};
use super::header::log_path;
use super::journaled::{self, Tip};
use super::lock::Lock;
use super::mark::{self, Mark, Reached};
use super::open::{Marks, Opened};
use super::readers::ReadError;
use super::table::{project, snapshot};
use super::writer::{Append, Group};
use super::{load, open};
use crate::crash;
use crate::error::StoreError;
use crate::snapshot::Tail;
use crate::store::{Holder, Settled};

/// The longest log that is left beside the file at a proper end.
const LOG_BYTES_LEFT: u64 = 1024 * 1024;
/// What is remembered lies in the log alone no longer than about this.
const FOLD_EVERY: Duration = Duration::from_mins(1);

/// How far a transaction brings the journals it writes to, or why one may not be written to.
type Tips = HashMap<i64, Result<Tip, StoreError>>;

/// What the writer's thread works with.
#[derive(Debug)]
pub(super) struct Desk {
    conn: Connection,
    at: PathBuf,
    /// Projects that were taken here.
    taken: HashMap<i64, Taken>,
    /// What a check in the background found; nothing is written on top of damage.
    found: Arc<OnceLock<Result<(), StoreError>>>,
    /// Whether a journal that lost something is taken all the same.
    opened: Opened,
}

/// A project that was taken.
#[derive(Debug)]
struct Taken {
    epoch: i64,
    tip: Tip,
    /// Says how far the journal has come.
    mark: Mark,
    /// Why nothing can be written until it is taken again.
    failed: Option<StoreError>,
    written: watch::Sender<u64>,
}

/// What whoever takes a project learns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) epoch: i64,
    pub(super) clean: bool,
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
        opened: Opened,
    ) -> Self {
        Self { conn, at, taken: HashMap::new(), found, opened }
    }

    /// Has the log brought into the file when the connection goes, where it is long or was not for a
    /// while. Otherwise it is left beside it: to bring it in, and to begin another one at the next
    /// opening, are two waits for the disk each; to read it then is next to nothing.
    pub(super) fn fold_log(&mut self) {
        let bytes = fs::metadata(log_path(&self.at)).map_or(0, |log| log.len());
        if bytes > LOG_BYTES_LEFT {
            // Where it cannot be brought in it stays.
            self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).ok();
        } else if bytes > 0 && (self.opened.is_new || was_folded_long_ago(&self.at)) {
            self.fold();
        }
    }

    /// Brings the log into the file, as far as nobody reads older parts of it just now.
    fn fold(&mut self) {
        let whole = |row: &rusqlite::Row<'_>| {
            let (in_log, folded) = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
            Ok(in_log == folded)
        };
        // Where it cannot be brought in it stays.
        if self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], whole).unwrap_or(false) {
            self.taken.values_mut().for_each(|taken| taken.mark.drop_actions());
        }
    }

    /// That nothing is known to be damaged, and that what was written can be read here.
    pub(super) fn usable(&self) -> Result<(), StoreError> {
        self.sound()?;
        let one = "SELECT count(*) FROM projects";
        self.read(|conn| Ok(conn.query_row(one, [], |row| row.get::<_, u32>(0)).map(drop)?))
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
            None => self.make(name)?,
        };
        let lock = Lock::take(&self.at, id, holder)?;
        let marked = self.marked(name)?;
        if self.read(|conn| Ok(journaled::is_unsealed(conn, id)?))? {
            self.transaction(|conn| journaled::seal_all(conn, id, name))?;
        }
        if self.opened.marks == Marks::Count {
            self.read(|conn| journaled::agrees(conn, &self.at, (id, name), marked))?;
        }
        let (state, tip, tail) = self.read(|conn| load::load(conn, &self.at, id, name))?;
        let start = self.take((id, name), tip, marked, written)?;
        Ok(Claimed { id, lock, start, state, tail })
    }

    /// Makes a project that the database does not know.
    fn make(&mut self, name: &str) -> Result<i64, StoreError> {
        if let Some(marked) = self.marked(name)?.filter(|marked| marked.seq > 0)
            && self.opened.marks == Marks::Count
        {
            // Another process may have made it meanwhile: what is marked was in the database before.
            let made = self.read(|conn| Ok(project::find(conn, name)?))?;
            return made.ok_or_else(|| journaled::project_gone(&self.at, marked.seq));
        }
        self.transaction_in_passing(|conn| project::make(conn, name))
    }

    /// How far the journal of a project had come, as its mark says.
    fn marked(&self, name: &str) -> Result<Option<Reached>, StoreError> {
        match mark::read(&self.at, name) {
            Ok(read) => Ok(read.map(|read| read.reached)),
            Err(_) if self.opened.marks == Marks::DoNotCount => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a project: from now on nobody else writes.
    fn take(
        &mut self,
        (id, name): (i64, &str),
        tip: Tip,
        marked: Option<Reached>,
        written: watch::Sender<u64>,
    ) -> Result<Start, StoreError> {
        let epoch = marked.map_or(0, |marked| marked.epoch);
        let mark = Mark::open(&self.at, name, tip.reached(epoch))?;
        // In passing: whoever takes it acts on nothing before its first batch is on disk.
        let project::Taken { epoch, clean } =
            self.transaction_in_passing(|conn| project::take(conn, id, epoch))?;
        if self.opened.marks == Marks::Count {
            mark.put(tip.reached(epoch))?;
        }
        written.send_replace(tip.seq);
        self.taken.insert(id, Taken { epoch, tip, mark, failed: None, written });
        Ok(Start { epoch, clean })
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
        let last = self.holds(id, epoch)?.seq;
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
        // It is on disk; what cannot be marked is not let go.
        let written = written.and_then(|tips| self.mark(&taken, tips));
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
        if was_folded_long_ago(&self.at) {
            self.fold();
        }
        count
    }

    /// Writes down how far the journals have come. Before an action is let go that is on disk.
    fn mark(&mut self, written: &[Append], tips: Tips) -> Result<(), StoreError> {
        let mut let_go: HashMap<i64, Vec<(u64, DoubtedAction)>> = HashMap::new();
        for append in written {
            let project = append.project;
            let actions = self.read(|conn| Ok(append.rows.let_go(conn, project)?))?;
            let_go.entry(project).or_default().extend(actions);
        }
        for (project, tip) in tips {
            let (Ok(tip), Some(taken)) = (tip, self.taken.get_mut(&project)) else { continue };
            let actions = let_go.remove(&project).unwrap_or_default();
            let waits = !actions.is_empty() || self.opened.marks == Marks::DoNotCount;
            for (seq, action) in actions {
                taken.mark.add(seq, action)?;
            }
            taken.mark.put(tip.reached(taken.epoch))?;
            if waits {
                taken.mark.wait_for_disk()?;
            }
            taken.tip = tip;
        }
        Ok(())
    }

    /// Writes them as they come.
    fn write(
        &self,
        group: &mut Group<'_>,
        taken: &mut Vec<Append>,
        verdicts: &mut Vec<Result<(), StoreError>>,
    ) -> Result<Tips, StoreError> {
        let mut tips = Tips::new();
        let result = begin(&self.conn).and_then(|()| {
            for append in group {
                let append = taken.push_mut(append);
                verdicts.push(self.write_one(append, &mut tips)?);
            }
            end(&self.conn)
        });
        result.map(|()| tips).map_err(|error| self.give_up(&error))
    }

    /// Writes one batch, or says why it may not be.
    fn write_one(
        &self,
        append: &Append,
        tips: &mut Tips,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        let tip = match tips.remove(&append.project) {
            Some(tip) => tip,
            None => self.tip(append)?,
        };
        let tip = match tip.and_then(|tip| self.follows(append, tip)) {
            Ok(tip) => Ok(append.rows.put(&self.conn, append.project, tip)?),
            Err(error) => Err(error),
        };
        let verdict = tip.as_ref().map(drop).map_err(Clone::clone);
        tips.insert(append.project, tip);
        Ok(verdict)
    }

    /// The end of a project's journal, if it may be written to.
    fn tip(&self, append: &Append) -> rusqlite::Result<Result<Tip, StoreError>> {
        let tip = self.holds(append.project, append.epoch);
        let epoch = project::epoch(&self.conn, append.project)?;
        let fenced = || StoreError::Fenced { at: self.at.display().to_string() };
        Ok(tip.and_then(|tip| if epoch == append.epoch { Ok(tip) } else { Err(fenced()) }))
    }

    fn holds(&self, id: i64, epoch: i64) -> Result<Tip, StoreError> {
        match self.taken.get(&id) {
            Some(taken) if taken.epoch == epoch => match &taken.failed {
                Some(error) => Err(error.clone()),
                None => Ok(taken.tip),
            },
            _ => Err(StoreError::Fenced { at: self.at.display().to_string() }),
        }
    }

    /// Events follow each other without gaps; anything else must not get into the journal.
    fn follows(&self, append: &Append, tip: Tip) -> Result<Tip, StoreError> {
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

    /// Remembers how it went for a project.
    fn note(&mut self, append: &Append, verdict: &Result<(), StoreError>) {
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

/// Whether nothing was folded into a database for a while: it is written to only then.
fn was_folded_long_ago(at: &Path) -> bool {
    let folded = fs::metadata(at).and_then(|found| found.modified()).ok();
    folded.and_then(|folded| folded.elapsed().ok()).is_some_and(|since| since >= FOLD_EVERY)
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

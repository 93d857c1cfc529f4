//! Claiming of a project: the lock, the check of its mark, its state (the newest readable snapshot, and the
//! events after it), and a new epoch.

use std::path::Path;

use rusqlite::Connection;
use tokio::sync::watch;
use unstuck_core::engine::State;

use super::lock::ProjectLock;
use super::mark::{self, JournalMark, JournalPosition};
use super::open::MarkPolicy;
use super::readers::ReadError;
use super::table::event;
use super::table::project::{self, ProjectEpoch};
use super::verify::{
    self, JournalTip, JournalVerification, damage_error, seal_at, verify_next_event,
};
use super::writer_state::{ClaimedProject, WriterState};
use crate::error::{Holder, StoreError};
use crate::snapshot::{JournalTail, deserialize_snapshot};

/// A project that is locked, claimed and read.
#[derive(Debug)]
pub(super) struct LoadedClaim {
    pub(super) id: i64,
    pub(super) lock: ProjectLock,
    pub(super) start: ProjectEpoch,
    pub(super) state: State,
    pub(super) tail: JournalTail,
}

impl WriterState {
    /// Locks a project, claims it and reads its state. An unknown one is created.
    pub(super) fn claim_project(
        &mut self,
        name: &str,
        holder: &Holder,
        written: watch::Sender<u64>,
    ) -> Result<LoadedClaim, StoreError> {
        let id = match self.read_data(|conn| Ok(project::find_id(conn, name)?))? {
            Some(id) => id,
            None => self.create_project(name)?,
        };
        let lock = ProjectLock::acquire(&self.at, id, holder)?;
        let marked = self.read_marked_position(name)?;
        if self.read_data(|conn| Ok(verify::is_unsealed(conn, id)?))? {
            self.run_transaction(|conn| verify::seal_all(conn, id, name))?;
        }
        if self.opened.marks == MarkPolicy::Count {
            self.read_data(|conn| verify::check_mark(conn, &self.at, (id, name), marked))?;
        }
        let (state, tip, tail) = self.read_data(|conn| load_project(conn, &self.at, id, name))?;
        let start = self.start_epoch((id, name), tip, marked, written)?;
        Ok(LoadedClaim { id, lock, start, state, tail })
    }

    /// Creates a project that the database does not contain.
    fn create_project(&mut self, name: &str) -> Result<i64, StoreError> {
        if let Some(marked) = self.read_marked_position(name)?.filter(|marked| marked.seq > 0)
            && self.opened.marks == MarkPolicy::Count
        {
            // Another process may have created it meanwhile: marked data was in the database before.
            let made = self.read_data(|conn| Ok(project::find_id(conn, name)?))?;
            return made.ok_or_else(|| verify::missing_project_error(&self.at, marked.seq));
        }
        self.run_transaction_without_sync(|conn| project::find_or_create(conn, name))
    }

    /// Returns the position of a project's journal according to its mark.
    fn read_marked_position(&self, name: &str) -> Result<Option<JournalPosition>, StoreError> {
        match mark::read_mark(&self.at, name) {
            Ok(read) => Ok(read.map(|read| read.reached)),
            Err(_) if self.opened.marks == MarkPolicy::DoNotCount => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Claims a project: from now on no other process writes.
    fn start_epoch(
        &mut self,
        (id, name): (i64, &str),
        tip: JournalTip,
        marked: Option<JournalPosition>,
        written: watch::Sender<u64>,
    ) -> Result<ProjectEpoch, StoreError> {
        let epoch = marked.map_or(0, |marked| marked.epoch);
        let mark = JournalMark::open(&self.at, name, tip.to_position(epoch))?;
        // Without waiting for the disk: the holder acts on nothing before its first batch is durable.
        let start =
            self.run_transaction_without_sync(|conn| project::start_epoch(conn, id, epoch))?;
        let epoch = start.epoch;
        if self.opened.marks == MarkPolicy::Count {
            mark.write_position(tip.to_position(epoch))?;
        }
        written.send_replace(tip.seq);
        self.taken.insert(id, ClaimedProject { epoch, tip, mark, failed: None, written });
        Ok(start)
    }
}

/// Verifies the chain of all remaining events, and that the project can be read from them.
pub(super) fn verify_journal(
    conn: &Connection,
    at: &Path,
    id: i64,
    name: &str,
) -> Result<JournalVerification, ReadError> {
    // A transaction, so that all of it is read at one moment.
    let reading = conn.unchecked_transaction()?;
    let verified = verify::verify_chain(&reading, at, id, name)?;
    // The next holder seals a journal from before seals existed, and reads it then.
    if !verify::is_unsealed(&reading, id)? {
        load_project(&reading, at, id, name)?;
    }
    Ok(verified)
}

/// Reads a project and the end of its journal, verifying the seals.
pub(super) fn load_project(
    conn: &Connection,
    at: &Path,
    project: i64,
    name: &str,
) -> Result<(State, JournalTip, JournalTail), ReadError> {
    let (mut state, snapshot_bytes) = load_newest_snapshot(conn, project, name)?;
    let missing = |seq: u64| damage_error(at, format!("event {seq} is missing from the journal"));
    let seal = seal_at(conn, project, name, state.seq())?;
    let mut seal = seal.ok_or_else(|| missing(state.seq().max(1)))?;
    let mut events_bytes = 0;
    event::replay_events(conn, project, state.seq(), |found| {
        seal = verify_next_event(at, seal, state.seq(), found)?;
        let recorded = found.read_recorded()?;
        state.apply(&recorded).map_err(|error| damage_error(at, error.to_string()))?;
        events_bytes += found.byte_len();
        Ok::<_, ReadError>(true)
    })?;
    if state.seq() != event::load_journal_end(conn, project)? {
        return Err(missing(state.seq() + 1).into());
    }
    let tip = JournalTip { seq: state.seq(), seal };
    Ok((state, tip, JournalTail::new(events_bytes, snapshot_bytes)))
}

/// Returns the newest readable snapshot and its size; without one, the initial state.
fn load_newest_snapshot(
    conn: &Connection,
    project: i64,
    name: &str,
) -> rusqlite::Result<(State, u64)> {
    for seq in event::load_snapshot_positions(conn, project)? {
        let body = event::load_snapshot(conn, project, seq)?;
        if let Some(state) = deserialize_snapshot(&body, name, seq) {
            return Ok((state, body.len() as u64));
        }
    }
    Ok((State::new(name), 0))
}

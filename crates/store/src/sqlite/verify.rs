//! Verification of a journal: its hash chain, and the position it had reached according to its mark.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::mark::{self, JournalPosition};
use super::readers::ReadError;
use super::table::event::EventSlot;
use super::table::{event, project};
use super::{fail, files};
use crate::chain::Seal;
use crate::error::StoreError;

/// The end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalTip {
    /// The last event; 0 if there is none.
    pub(super) seq: u64,
    /// The seal of that event.
    pub(super) seal: Seal,
}

impl JournalTip {
    /// Returns the position as the mark of an epoch.
    pub(super) const fn to_position(self, epoch: i64) -> JournalPosition {
        JournalPosition { epoch, seq: self.seq, seal: self.seal }
    }
}

/// The result of verifying a whole journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalVerification {
    /// Number of events.
    pub events: u64,
    /// The last event; 0 if there is none.
    pub last: u64,
}

/// Returns the seal at a position; before the first remaining event it is that of the last deleted one.
pub(super) fn seal_at(
    conn: &Connection,
    id: i64,
    name: &str,
    seq: u64,
) -> rusqlite::Result<Option<Seal>> {
    match event::load_slot(conn, id, seq)? {
        EventSlot::Sealed(seal) => return Ok(Some(seal)),
        EventSlot::Unsealed => return Ok(None),
        EventSlot::Empty => {}
    }
    match event::load_first_seq(conn, id)? {
        Some(first) if first == seq.saturating_add(1) => {
            Ok(Some(seal_before_first(conn, id, name)?))
        }
        None if seq == 0 => Ok(Some(Seal::from_project(name))),
        _ => Ok(None),
    }
}

/// Returns the seal that the first remaining event is chained to.
fn seal_before_first(conn: &Connection, id: i64, name: &str) -> rusqlite::Result<Seal> {
    Ok(project::load_dropped_seal(conn, id)?.unwrap_or_else(|| Seal::from_project(name)))
}

/// Returns whether the last event is from before seals existed.
pub(super) fn is_unsealed(conn: &Connection, id: i64) -> rusqlite::Result<bool> {
    let last = event::load_newest_seq(conn, id)?;
    Ok(event::load_slot(conn, id, last)? == EventSlot::Unsealed)
}

/// Seals all events from before seals existed.
pub(super) fn seal_all(conn: &Connection, id: i64, name: &str) -> rusqlite::Result<()> {
    let mut seal = seal_before_first(conn, id, name)?;
    let mut sealed = Vec::new();
    event::replay_events(conn, id, 0, |found| {
        seal = seal.next_seal(&found.link);
        sealed.push((found.link.seq, seal));
        Ok::<_, rusqlite::Error>(true)
    })?;
    sealed.into_iter().try_for_each(|(seq, seal)| event::set_seal(conn, id, seq, seal))
}

/// Verifies the chain of all remaining events. An event from before seals existed is accepted as it is.
pub(super) fn verify_chain(
    conn: &Connection,
    at: &Path,
    id: i64,
    name: &str,
) -> Result<JournalVerification, ReadError> {
    let mut seal = seal_before_first(conn, id, name)?;
    let mut events = 0;
    let mut last = event::load_first_seq(conn, id)?.map_or(0, |first| first.saturating_sub(1));
    event::replay_events(conn, id, 0, |found| {
        seal = verify_next_event(at, seal, last, found)?;
        last = found.link.seq;
        events += 1;
        Ok::<_, ReadError>(true)
    })?;
    Ok(JournalVerification { events, last })
}

/// Returns the seal of the event found after `last`, if it is the one that was written there.
pub(super) fn verify_next_event(
    at: &Path,
    before: Seal,
    last: u64,
    found: &event::JournalRow<'_>,
) -> Result<Seal, StoreError> {
    let seq = found.link.seq;
    let expected = last.saturating_add(1);
    if seq != expected {
        return Err(damage_error(at, format!("event {expected} is missing from the journal")));
    }
    let seal = before.next_seal(&found.link);
    if found.seal.is_some_and(|written| written != seal) {
        return Err(damage_error(
            at,
            format!("event {seq} of the journal is not what was written"),
        ));
    }
    Ok(seal)
}

/// Checks that the journal of a project has reached the position of its mark.
pub(super) fn check_mark(
    conn: &Connection,
    at: &Path,
    (id, name): (i64, &str),
    marked: Option<JournalPosition>,
) -> Result<(), ReadError> {
    let marked = match marked {
        Some(marked) => marked,
        // The project is from before marks existed.
        None if !project::is_marked(conn, id)? => return Ok(()),
        // A mark is created before the database refers to it, so one that was created after the first lookup
        // exists by now.
        None => match mark::read_mark(at, name)? {
            Some(read) => read.reached,
            None => {
                let mark = mark::mark_path(at, name);
                let gone = format!("{} is gone", mark.display());
                let what = format!("{gone}, which says how far the journal has come");
                return Err(damage_error(at, what).into());
            }
        },
    };
    let last = event::load_journal_end(conn, id)?;
    if marked.seq > last {
        let what = format!("its journal ends at event {last} and had come to event {}", marked.seq);
        return Err(damage_error(at, what).into());
    }
    let is_it = match seal_at(conn, id, name, marked.seq)? {
        Some(seal) => seal == marked.seal,
        // Never sealed, or deleted since the mark was read.
        None => {
            event::load_slot(conn, id, marked.seq)? == EventSlot::Unsealed
                || event::load_first_seq(conn, id)?.is_some_and(|first| first > marked.seq)
        }
    };
    if is_it {
        return Ok(());
    }
    let what = format!("event {} of the journal is not what was written", marked.seq);
    Err(damage_error(at, what).into())
}

/// Checks that the database contains everything marked beside it. Marks are read first, because they are
/// written last.
pub(super) fn check_all_marks(conn: &Connection, at: &Path) -> Result<(), ReadError> {
    let mut marks = Vec::new();
    for path in find_mark_files(at)? {
        if let Some(read) = mark::read_mark_file(&path)? {
            marks.push((path, read.reached));
        }
    }
    let projects = if is_chained(conn)? { project::load_projects(conn)? } else { Vec::new() };
    for (id, name, _) in &projects {
        let known = marks.iter().position(|(marked, _)| mark::is_mark_of(marked, at, name));
        let reached = known.map(|known| marks.swap_remove(known).1);
        if project::find_id(conn, name)? != Some(*id) {
            return Err(damage_error(at, format!("{name} cannot be found by its name")).into());
        }
        check_mark(conn, at, (*id, name), reached)?;
    }
    match marks.iter().find(|(_, reached)| reached.seq > 0) {
        None => Ok(()),
        Some((_, reached)) => Err(missing_project_error(at, reached.seq).into()),
    }
}

/// Returns whether a database has chains and marks; one from before they existed does not, and a new one is
/// empty.
pub(super) fn is_chained(conn: &Connection) -> rusqlite::Result<bool> {
    match conn.prepare("SELECT seal FROM events") {
        Ok(_) => Ok(true),
        // The table or column does not exist.
        Err(rusqlite::Error::SqlInputError { .. }) => Ok(false),
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == rusqlite::ErrorCode::Unknown =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Creates the error for a mark of a project that the database does not contain.
pub(super) fn missing_project_error(at: &Path, seq: u64) -> StoreError {
    damage_error(at, format!("nothing is left of a journal that had come to event {seq}"))
}

/// Refuses a database that is missing or empty although files beside it prove that it existed.
pub(super) fn require_database(at: &Path) -> Result<(), StoreError> {
    let is_there = || fs::metadata(at).is_ok_and(|found| found.len() > 0);
    if is_there() {
        return Ok(());
    }
    match find_sign_of_loss(at)? {
        // Another process may have created it meanwhile.
        Some(what) if !is_there() => Err(damage_error(at, what)),
        _ => Ok(()),
    }
}

/// Returns the evidence that there was a database.
fn find_sign_of_loss(at: &Path) -> Result<Option<String>, StoreError> {
    for path in find_mark_files(at)? {
        if let Some(read) = mark::read_mark_file(&path)?.filter(|read| read.reached.seq > 0) {
            let seq = read.reached.seq;
            return Ok(Some(format!("it is gone, and its journal had come to event {seq}")));
        }
    }
    let has_log = fs::metadata(files::log_path(at)).is_ok_and(|log| log.len() > 0);
    Ok(has_log.then(|| "it is gone, and its log is still there".to_owned()))
}

fn find_mark_files(at: &Path) -> Result<Vec<PathBuf>, StoreError> {
    mark::list_mark_files(at).map_err(|error| fail::convert_io_error(at, "read", &error))
}

pub(super) fn damage_error(at: &Path, what: String) -> StoreError {
    StoreError::Damaged { at: at.display().to_string(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate::STEPS;
    use crate::sqlite::open::{self, MarkPolicy};

    #[test]
    fn a_mark_that_was_made_after_it_was_looked_for_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("state.db");
        let conn = open::open_writer(&at, STEPS, MarkPolicy::Count).unwrap();
        let id = project::find_or_create(&conn, "a").unwrap();
        let first = JournalTip { seq: 0, seal: Seal::from_project("a") }.to_position(1);
        drop(mark::JournalMark::open(&at, "a", first).unwrap());
        project::start_epoch(&conn, id, 1).unwrap();
        assert!(project::is_marked(&conn, id).unwrap());
        // Another process created it after this one had looked.
        check_mark(&conn, &at, (id, "a"), None).unwrap();
        fs::remove_file(mark::mark_path(&at, "a")).unwrap();
        check_mark(&conn, &at, (id, "a"), None).unwrap_err();
    }
}

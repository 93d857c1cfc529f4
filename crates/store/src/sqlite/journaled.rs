//! Verification of a journal: its hash chain, and its position.

use std::path::Path;

use rusqlite::Connection;

use super::mark::{self, Reached};
use super::readers::ReadError;
use super::table::event::Place;
use super::table::{event, project, snapshot};
use crate::chain::Seal;
use crate::error::StoreError;

/// The end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tip {
    /// The last event; 0 if there is none.
    pub(super) seq: u64,
    /// The seal of that event.
    pub(super) seal: Seal,
}

impl Tip {
    /// Returns the position as the mark of an epoch.
    pub(super) const fn reached(self, epoch: i64) -> Reached {
        Reached { epoch, seq: self.seq, seal: self.seal }
    }
}

/// The result of verifying a whole journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Number of events.
    pub events: u64,
    /// The last event; 0 if there is none.
    pub last: u64,
}

/// Returns the position at which a journal ends.
pub(super) fn last(conn: &Connection, id: i64) -> rusqlite::Result<u64> {
    let remembered = snapshot::positions(conn, id)?.first().copied().unwrap_or(0);
    Ok(event::last(conn, id)?.max(remembered))
}

/// Returns the seal at a position; before the first remaining event it is that of the last deleted one.
pub(super) fn seal_at(
    conn: &Connection,
    id: i64,
    name: &str,
    seq: u64,
) -> rusqlite::Result<Option<Seal>> {
    match event::place(conn, id, seq)? {
        Place::Sealed(seal) => return Ok(Some(seal)),
        Place::Unsealed => return Ok(None),
        Place::Empty => {}
    }
    match event::first(conn, id)? {
        Some(first) if first == seq.saturating_add(1) => Ok(Some(before_first(conn, id, name)?)),
        None if seq == 0 => Ok(Some(Seal::beginning(name))),
        _ => Ok(None),
    }
}

/// Returns the seal that the first remaining event is chained to.
fn before_first(conn: &Connection, id: i64, name: &str) -> rusqlite::Result<Seal> {
    Ok(project::dropped(conn, id)?.unwrap_or_else(|| Seal::beginning(name)))
}

/// Returns whether the last event is from before seals existed.
pub(super) fn is_unsealed(conn: &Connection, id: i64) -> rusqlite::Result<bool> {
    let last = event::last(conn, id)?;
    Ok(event::place(conn, id, last)? == Place::Unsealed)
}

/// Seals all events from before seals existed.
pub(super) fn seal_all(conn: &Connection, id: i64, name: &str) -> rusqlite::Result<()> {
    let mut seal = before_first(conn, id, name)?;
    let mut sealed = Vec::new();
    event::replay(conn, id, 0, |found| {
        seal = seal.next(&found.link);
        sealed.push((found.link.seq, seal));
        Ok::<_, rusqlite::Error>(true)
    })?;
    sealed.into_iter().try_for_each(|(seq, seal)| event::set_seal(conn, id, seq, seal))
}

/// Verifies the chain of all remaining events. An event from before seals existed is accepted as it is.
pub(super) fn walk(
    conn: &Connection,
    at: &Path,
    id: i64,
    name: &str,
) -> Result<Verified, ReadError> {
    let mut seal = before_first(conn, id, name)?;
    let mut events = 0;
    let mut last = event::first(conn, id)?.map_or(0, |first| first.saturating_sub(1));
    event::replay(conn, id, 0, |found| {
        seal = next(at, seal, last, found)?;
        last = found.link.seq;
        events += 1;
        Ok::<_, ReadError>(true)
    })?;
    Ok(Verified { events, last })
}

/// Returns the seal of the event found after `last`, if it is the one that was written there.
pub(super) fn next(
    at: &Path,
    before: Seal,
    last: u64,
    found: &event::Found<'_>,
) -> Result<Seal, StoreError> {
    let seq = found.link.seq;
    let expected = last.saturating_add(1);
    if seq != expected {
        return Err(damaged(at, format!("event {expected} is missing from the journal")));
    }
    let seal = before.next(&found.link);
    if found.seal.is_some_and(|written| written != seal) {
        return Err(damaged(at, format!("event {seq} of the journal is not what was written")));
    }
    Ok(seal)
}

/// Checks that the journal of a project has reached the position of its mark.
pub(super) fn agrees(
    conn: &Connection,
    at: &Path,
    (id, name): (i64, &str),
    marked: Option<Reached>,
) -> Result<(), ReadError> {
    let marked = match marked {
        Some(marked) => marked,
        // The project is from before marks existed.
        None if !project::is_marked(conn, id)? => return Ok(()),
        // A mark is created before the database refers to it, so one that was created after the first lookup
        // exists by now.
        None => match mark::read(at, name)? {
            Some(read) => read.reached,
            None => {
                let mark = mark::path(at, name);
                let gone = format!("{} is gone", mark.display());
                let what = format!("{gone}, which says how far the journal has come");
                return Err(damaged(at, what).into());
            }
        },
    };
    let last = last(conn, id)?;
    if marked.seq > last {
        let what = format!("its journal ends at event {last} and had come to event {}", marked.seq);
        return Err(damaged(at, what).into());
    }
    let is_it = match seal_at(conn, id, name, marked.seq)? {
        Some(seal) => seal == marked.seal,
        // Never sealed, or deleted since the mark was read.
        None => {
            event::place(conn, id, marked.seq)? == Place::Unsealed
                || event::first(conn, id)?.is_some_and(|first| first > marked.seq)
        }
    };
    if is_it {
        return Ok(());
    }
    let what = format!("event {} of the journal is not what was written", marked.seq);
    Err(damaged(at, what).into())
}

/// Checks that the database contains everything marked beside it. Marks are read first, because they are
/// written last.
pub(super) fn all_agree(conn: &Connection, at: &Path) -> Result<(), ReadError> {
    let mut marks = Vec::new();
    for path in marks_beside(at)? {
        if let Some(read) = mark::read_at(&path)? {
            marks.push((path, read.reached));
        }
    }
    let projects = if is_chained(conn)? { project::all(conn)? } else { Vec::new() };
    for (id, name, _) in &projects {
        let known = marks.iter().position(|(marked, _)| mark::is_of(marked, at, name));
        let reached = known.map(|known| marks.swap_remove(known).1);
        if project::find(conn, name)? != Some(*id) {
            return Err(damaged(at, format!("{name} cannot be found by its name")).into());
        }
        agrees(conn, at, (*id, name), reached)?;
    }
    match marks.iter().find(|(_, reached)| reached.seq > 0) {
        None => Ok(()),
        Some((_, reached)) => Err(project_gone(at, reached.seq).into()),
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
pub(super) fn project_gone(at: &Path, seq: u64) -> StoreError {
    damaged(at, format!("nothing is left of a journal that had come to event {seq}"))
}

/// Refuses a database that is missing or empty although files beside it prove that it existed.
pub(super) fn require_database(at: &Path) -> Result<(), StoreError> {
    let is_there = || std::fs::metadata(at).is_ok_and(|found| found.len() > 0);
    if is_there() {
        return Ok(());
    }
    match sign_of_loss(at)? {
        // Another process may have created it meanwhile.
        Some(what) if !is_there() => Err(damaged(at, what)),
        _ => Ok(()),
    }
}

/// Returns the evidence that there was a database.
fn sign_of_loss(at: &Path) -> Result<Option<String>, StoreError> {
    for path in marks_beside(at)? {
        if let Some(read) = mark::read_at(&path)?.filter(|read| read.reached.seq > 0) {
            let seq = read.reached.seq;
            return Ok(Some(format!("it is gone, and its journal had come to event {seq}")));
        }
    }
    let has_log = std::fs::metadata(super::header::log_path(at)).is_ok_and(|log| log.len() > 0);
    Ok(has_log.then(|| "it is gone, and its log is still there".to_owned()))
}

fn marks_beside(at: &Path) -> Result<Vec<std::path::PathBuf>, StoreError> {
    mark::beside(at).map_err(|error| super::fail::system(at, "read", &error))
}

pub(super) fn damaged(at: &Path, what: String) -> StoreError {
    StoreError::Damaged { at: at.display().to_string(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate::STEPS;
    use crate::sqlite::open::{self, Marks};

    #[test]
    fn a_mark_that_was_made_after_it_was_looked_for_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("state.db");
        let conn = open::writer(&at, STEPS, Marks::Count).unwrap();
        let id = project::make(&conn, "a").unwrap();
        let first = Tip { seq: 0, seal: Seal::beginning("a") }.reached(1);
        drop(mark::Mark::open(&at, "a", first).unwrap());
        project::take(&conn, id, 1).unwrap();
        assert!(project::is_marked(&conn, id).unwrap());
        // Another process created it after this one had looked.
        agrees(&conn, &at, (id, "a"), None).unwrap();
        std::fs::remove_file(mark::path(&at, "a")).unwrap();
        agrees(&conn, &at, (id, "a"), None).unwrap_err();
    }
}

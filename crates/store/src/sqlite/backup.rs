//! Backups, and restoring from them.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::check::whole;
use super::fail::{self, Doing};
use super::mark::{self, Mark};
use super::open::Marks;
use super::readers::{ReadError, reader};
use super::table::project;
use super::{header, journaled, load, migrate, open};
use crate::error::StoreError;

/// Number of pages copied at once. No other process writes meanwhile, so all of them.
const ALL_PAGES: i32 = i32::MAX;
/// The delay before a retry while another process reads.
const PAUSE: Duration = Duration::from_millis(20);

/// Copies the database at this moment, while other processes read and write. An existing file is not
/// overwritten.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: &std::io::Error| fail::system(to, "written", error);
    let file = open::new_private(to).map_err(|error| failed(&error))?;
    let copied = (|| {
        let conn = reader(from)?;
        conn.execute("VACUUM INTO ?1", [to.to_string_lossy()])
            .map_err(|error| fail::sqlite(to, Doing::Writing, &error))?;
        file.sync_all().map_err(|error| failed(&error))?;
        whole(&reader(to)?, to)
    })();
    if copied.is_err() {
        // An incomplete copy could be mistaken for a complete one.
        let _ = std::fs::remove_file(to);
    }
    copied
}

/// Replaces the database, whose only user is the caller, by a copy, atomically. Its journals are then at the
/// position of the copy's.
pub(super) fn restore(from: &Path, at: &Path, wanted: &str) -> Result<(), StoreError> {
    let copy = check(from, wanted)?;
    let writing = |error: rusqlite::Error| fail::sqlite(at, Doing::Writing, &error);
    let mut conn = open::writer(at, migrate::STEPS, Marks::DoNotCount)?;
    let backup = Backup::new(&copy, &mut conn).map_err(writing)?;
    backup.run_to_completion(ALL_PAGES, PAUSE, None).map_err(writing)?;
    drop(backup);
    drop(conn);
    // A copy of an older version is migrated like any other database.
    let conn = open::writer(at, migrate::STEPS, Marks::DoNotCount)?;
    remark(&conn, at).map_err(|error| error.at(at))
}

/// Opens a copy, if it is valid and contains the project.
pub(super) fn check(from: &Path, wanted: &str) -> Result<Connection, StoreError> {
    let file = std::fs::File::open(from).map_err(|error| fail::system(from, "read", &error))?;
    header::check(from, &file, migrate::newest(migrate::STEPS))?;
    let copy = reader(from)?;
    whole(&copy, from)?;
    let reading = |error: rusqlite::Error| fail::sqlite(from, Doing::Reading, &error);
    if project::find(&copy, wanted).map_err(reading)?.is_none() {
        return Err(StoreError::Damaged {
            at: from.display().to_string(),
            what: format!("it holds nothing about the project {wanted}"),
        });
    }
    Ok(copy)
}

/// Resets the marks of all journals to their current positions.
fn remark(conn: &Connection, at: &Path) -> Result<(), ReadError> {
    for (id, name, _) in project::all(conn)? {
        if journaled::is_unsealed(conn, id)? {
            let sealing = conn.unchecked_transaction()?;
            journaled::seal_all(&sealing, id, &name)?;
            sealing.commit()?;
        }
        let (_, tip, _) = load::load(conn, at, id, &name)?;
        // An unreadable mark provides no epoch.
        let marked = mark::read(at, &name).ok().flatten();
        let epoch = marked.map_or(0, |marked| marked.reached.epoch);
        let reached = tip.reached(epoch.max(project::epoch(conn, id)?));
        Mark::open(at, &name, reached)?.reset(reached)?;
    }
    Ok(())
}

//! Backups, and restoring from them.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::check::check_database;
use super::fail::{self, FailedOperation};
use super::mark::{self, JournalMark};
use super::open::MarkPolicy;
use super::readers::{ReadError, open_reader};
use super::table::project;
use super::{claim, files, migrate, open, verify};
use crate::error::StoreError;

/// Number of pages copied at once. No other process writes meanwhile, so all of them.
const ALL_PAGES: i32 = i32::MAX;
/// The delay before a retry while another process reads.
const PAUSE: Duration = Duration::from_millis(20);

/// Copies the database at this moment, while other processes read and write. An existing file is not
/// overwritten.
pub(super) fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: &std::io::Error| fail::convert_io_error(to, "written", error);
    let file = files::create_private_file(to).map_err(|error| failed(&error))?;
    let copied = (|| {
        let conn = open_reader(from)?;
        conn.execute("VACUUM INTO ?1", [to.to_string_lossy()])
            .map_err(|error| fail::convert_sqlite_error(to, FailedOperation::Writing, &error))?;
        file.sync_all().map_err(|error| failed(&error))?;
        check_database(&open_reader(to)?, to)
    })();
    if copied.is_err() {
        // An incomplete copy could be mistaken for a complete one.
        let _ = std::fs::remove_file(to);
    }
    copied
}

/// Replaces the database, whose only user is the caller, by a copy, atomically. Its journals are then at the
/// position of the copy's.
pub(super) fn restore_database(from: &Path, at: &Path, wanted: &str) -> Result<(), StoreError> {
    let copy = open_checked_copy(from, wanted)?;
    let writing =
        |error: rusqlite::Error| fail::convert_sqlite_error(at, FailedOperation::Writing, &error);
    let mut conn = open::open_writer(at, migrate::STEPS, MarkPolicy::DoNotCount)?;
    let backup = Backup::new(&copy, &mut conn).map_err(writing)?;
    backup.run_to_completion(ALL_PAGES, PAUSE, None).map_err(writing)?;
    drop(backup);
    drop(conn);
    // A copy of an older version is migrated like any other database.
    let conn = open::open_writer(at, migrate::STEPS, MarkPolicy::DoNotCount)?;
    reset_marks(&conn, at).map_err(|error| error.into_store_error(at))
}

/// Opens a copy, if it is valid and contains the project.
pub(super) fn open_checked_copy(from: &Path, wanted: &str) -> Result<Connection, StoreError> {
    let file =
        std::fs::File::open(from).map_err(|error| fail::convert_io_error(from, "read", &error))?;
    files::check_header(from, &file, migrate::newest_schema(migrate::STEPS))?;
    let copy = open_reader(from)?;
    check_database(&copy, from)?;
    let reading =
        |error: rusqlite::Error| fail::convert_sqlite_error(from, FailedOperation::Reading, &error);
    if project::find_id(&copy, wanted).map_err(reading)?.is_none() {
        return Err(StoreError::Damaged {
            at: from.display().to_string(),
            what: format!("it holds nothing about the project {wanted}"),
        });
    }
    Ok(copy)
}

/// Resets the marks of all journals to their current positions.
fn reset_marks(conn: &Connection, at: &Path) -> Result<(), ReadError> {
    for (id, name, _) in project::load_projects(conn)? {
        if verify::is_unsealed(conn, id)? {
            let sealing = conn.unchecked_transaction()?;
            verify::seal_all(&sealing, id, &name)?;
            sealing.commit()?;
        }
        let (_, tip, _) = claim::load_project(conn, at, id, &name)?;
        // An unreadable mark provides no epoch.
        let marked = mark::read_mark(at, &name).ok().flatten();
        let epoch = marked.map_or(0, |marked| marked.reached.epoch);
        let reached = tip.to_position(epoch.max(project::load_epoch(conn, id)?));
        JournalMark::open(at, &name, reached)?.reset(reached)?;
    }
    Ok(())
}

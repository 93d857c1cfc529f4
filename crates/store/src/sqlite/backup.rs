//! Copies to keep, and back from them.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;

use super::check::whole;
use super::fail::{self, Doing};
use super::readers::reader;
use super::table::project;
use super::{header, migrate, open};
use crate::error::StoreError;

/// Pages that are copied at once. Nobody else writes meanwhile, so all of them at a time.
const ALL_PAGES: i32 = i32::MAX;
/// When somebody reads just now, it is tried again after this long.
const PAUSE: Duration = Duration::from_millis(20);

/// Copies the database as it is at this moment, whoever reads and writes. Nothing is overwritten.
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
        // Half a copy would be taken for one.
        let _ = std::fs::remove_file(to);
    }
    copied
}

/// Puts a copy in the place of the database, whose only user is the caller: all of it or nothing.
pub(super) fn restore(from: &Path, at: &Path, wanted: &str) -> Result<(), StoreError> {
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
    let writing = |error: rusqlite::Error| fail::sqlite(at, Doing::Writing, &error);
    let mut conn = open::writer(at, migrate::STEPS)?;
    let backup = Backup::new(&copy, &mut conn).map_err(writing)?;
    backup.run_to_completion(ALL_PAGES, PAUSE, None).map_err(writing)?;
    drop(backup);
    drop(conn);
    // A copy of an older version is brought forward like any other database.
    open::writer(at, migrate::STEPS).map(drop)
}

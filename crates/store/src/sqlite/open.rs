//! Opening of the database: nothing is written before it is known to be Unstuck's and of a known schema.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fail::{self, FailedOperation};
use super::header;
use super::journaled;
use super::migrate::{self, MigrationStep};
use crate::error::StoreError;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// Timeout for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Capacity of the cache of prepared statements; fewer are in use.
const STATEMENTS_KEPT: usize = 64;
/// Size to which the WAL is truncated.
const LOG_BYTES_KEPT: u32 = 16 * 1024 * 1024;
/// Maximum number of attempts to switch to WAL mode while another process opens the same file.
const MODE_TRIES: u32 = 100;
const MODE_WAIT: Duration = Duration::from_millis(20);

/// The treatment of the marks beside a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkPolicy {
    /// A journal that ends before its mark is refused.
    Count,
    /// The journal is accepted as it is, because the operator said so.
    DoNotCount,
}

/// Facts about a database at its opening.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatabaseFacts {
    pub(super) marks: MarkPolicy,
    /// `true` if the database did not exist.
    pub(super) is_new: bool,
}

impl DatabaseFacts {
    /// Inspects the file before it is opened.
    pub(super) fn inspect_file(at: &Path, marks: MarkPolicy) -> Self {
        Self { marks, is_new: !fs::metadata(at).is_ok_and(|found| found.len() > 0) }
    }
}

/// Opens the database for writing and migrates it to the newest schema.
pub(super) fn open_writer(
    at: &Path,
    steps: &[MigrationStep],
    marks: MarkPolicy,
) -> Result<Connection, StoreError> {
    make_parent_folder(at)?;
    if marks == MarkPolicy::Count {
        journaled::require_database(at)?;
    }
    let file =
        open_private_file(at).map_err(|error| fail::convert_io_error(at, "opened", &error))?;
    header::check_header(at, &file, migrate::newest_schema(steps))?;
    drop(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed =
        |error: rusqlite::Error| fail::convert_sqlite_error(at, FailedOperation::Writing, &error);
    let mut conn = Connection::open_with_flags(at, flags).map_err(failed)?;
    // Closing a database that is refused below must not change it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    configure_connection(&conn).map_err(failed)?;
    if marks == MarkPolicy::Count {
        journaled::check_all_marks(&conn, at).map_err(|error| error.into_store_error(at))?;
    }
    migrate::migrate_database(&mut conn, at, steps)?;
    enable_wal(&conn).map_err(failed)?;
    set_wait_for_disk(&conn, true).map_err(failed)?;
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT).map_err(failed)?;
    Ok(conn)
}

/// Returns the identity of a file: its device and inode.
pub(super) fn file_identity(at: &Path) -> Result<(u64, u64), StoreError> {
    let found = fs::metadata(at).map_err(|error| fail::convert_io_error(at, "read", &error))?;
    Ok((found.dev(), found.ino()))
}

/// Sets whether a commit waits until it is on disk. A commit that does not becomes durable with the next one
/// that does, because the WAL is written in order.
pub(super) fn set_wait_for_disk(conn: &Connection, waits: bool) -> rusqlite::Result<()> {
    conn.pragma_update(None, "synchronous", if waits { "FULL" } else { "NORMAL" })
}

/// Applies the settings that every connection needs.
pub(super) fn configure_connection(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "trusted_schema", "OFF")
}

/// Creates a file that only its owner may read; an existing one is not touched.
pub(super) fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Opens a file that only its owner may read, and creates it if there is none.
pub(super) fn open_private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode != FILE_MODE {
        // Another user's file keeps its mode; Unstuck's own is private whatever the umask.
        file.set_permissions(Permissions::from_mode(FILE_MODE)).ok();
    }
    Ok(file)
}

fn make_parent_folder(at: &Path) -> Result<(), StoreError> {
    match at.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => make_private_folder(folder),
        None => Ok(()),
    }
}

/// Creates a folder that only its owner may read; an existing one is not touched.
pub(super) fn make_private_folder(folder: &Path) -> Result<(), StoreError> {
    if fs::metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
    made.map_err(|error| fail::convert_io_error(folder, "made", &error))
}

/// Switches to WAL mode. SQLite does not wait for other processes here, so this function retries.
fn enable_wal(conn: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        match conn
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == rusqlite::ErrorCode::DatabaseBusy && tries < MODE_TRIES =>
            {
                tries += 1;
                thread::sleep(MODE_WAIT);
            }
            other => return other.map(drop),
        }
    }
}

//! Opening of the database: nothing is written before it is known to be Unstuck's and of a known schema.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fail::{self, FailedOperation};
use super::files;
use super::migrate::{self, MigrationStep};
use super::verify;
use crate::error::StoreError;

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
    files::make_parent_folder(at)?;
    if marks == MarkPolicy::Count {
        verify::require_database(at)?;
    }
    let file = files::open_private_file(at)
        .map_err(|error| fail::convert_io_error(at, "opened", &error))?;
    files::check_header(at, &file, migrate::newest_schema(steps))?;
    drop(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed =
        |error: rusqlite::Error| fail::convert_sqlite_error(at, FailedOperation::Writing, &error);
    let mut conn = Connection::open_with_flags(at, flags).map_err(failed)?;
    // Closing a database that is refused below must not change it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    configure_connection(&conn).map_err(failed)?;
    if marks == MarkPolicy::Count {
        verify::check_all_marks(&conn, at).map_err(|error| error.into_store_error(at))?;
    }
    migrate::migrate_database(&mut conn, at, steps)?;
    enable_wal(&conn).map_err(failed)?;
    set_wait_for_disk(&conn, true).map_err(failed)?;
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT).map_err(failed)?;
    Ok(conn)
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

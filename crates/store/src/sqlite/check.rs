//! The background check of the whole database after an unclean end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, InterruptHandle};

use super::fail::{self, FailedOperation};
use super::readers::{ReadError, open_reader};
use super::table::project;
use super::verify;
use crate::error::StoreError;

/// A check of the database that may be running.
#[derive(Debug, Default)]
pub(super) struct IntegrityCheck {
    under_way: Mutex<Option<RunningIntegrityCheck>>,
    /// The result; the writer writes nothing on top of damage.
    pub(super) found: Arc<OnceLock<Result<(), StoreError>>>,
}

struct RunningIntegrityCheck {
    thread: JoinHandle<()>,
    stop: InterruptHandle,
}

impl IntegrityCheck {
    /// Starts the check, unless it was already started.
    pub(super) fn start(&self, at: PathBuf) -> Result<(), StoreError> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.is_some() {
            return Ok(());
        }
        let conn = open_reader(&at)?;
        let stop = conn.get_interrupt_handle();
        let found = Arc::clone(&self.found);
        let look = move || {
            found.set(check_database(&conn, &at)).ok();
        };
        let started = thread::Builder::new().name("unstuck-check".to_owned()).spawn(look);
        // A machine that cannot start a thread cannot check; the work continues without the check.
        *under_way = started.ok().map(|thread| RunningIntegrityCheck { thread, stop });
        Ok(())
    }
}

/// Checks that everything in a database can be read, and that each journal is intact.
pub(super) fn check_database(conn: &Connection, at: &Path) -> Result<(), StoreError> {
    let said = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match said {
        Ok(said) if said == "ok" => {
            verify_journals(conn, at).map_err(|error| error.into_store_error(at))
        }
        Ok(what) => Err(StoreError::Damaged { at: at.display().to_string(), what }),
        Err(error) => Err(fail::convert_sqlite_error(at, FailedOperation::Reading, &error)),
    }
}

/// Verifies the journals. A copy may be older than the chains.
fn verify_journals(conn: &Connection, at: &Path) -> Result<(), ReadError> {
    if !verify::is_chained(conn)? {
        return Ok(());
    }
    // A transaction, so that all of them are read at one moment.
    let reading = conn.unchecked_transaction()?;
    for (id, name, _) in project::load_projects(&reading)? {
        verify::verify_chain(&reading, at, id, &name)?;
    }
    Ok(())
}

impl Drop for IntegrityCheck {
    fn drop(&mut self) {
        let under_way = self.under_way.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(RunningIntegrityCheck { thread, stop }) = under_way.take() {
            stop.interrupt();
            thread.join().ok();
        }
    }
}

impl std::fmt::Debug for RunningIntegrityCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnderWay").field(&self.thread).finish()
    }
}

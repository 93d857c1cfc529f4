//! Reading: a pool of read-only connections, used on blocking threads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;
use tokio::task;

use super::fail::{self, FailedOperation};
use super::{open, value};
use crate::error::StoreError;

/// Maximum number of concurrent readers.
const READERS_MAX: usize = 4;

/// A pool of read-only connections.
#[derive(Clone, Debug)]
pub(super) struct ReaderPool(Arc<ReaderPoolInner>);

#[derive(Debug)]
struct ReaderPoolInner {
    at: PathBuf,
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
    /// The connection that detects writes of others. Its version numbers are not comparable with those of
    /// another connection.
    watches: Mutex<Option<Connection>>,
}

impl ReaderPool {
    pub(super) fn new(at: PathBuf) -> Self {
        let idle = Mutex::default();
        let free = Semaphore::new(READERS_MAX);
        Self(Arc::new(ReaderPoolInner { at, idle, free, watches: Mutex::default() }))
    }

    /// Returns a number that changes when another connection has written. It is read from shared memory and
    /// costs a few microseconds.
    pub(super) fn read_revision(&self) -> Result<u64, StoreError> {
        let mut watches = self.0.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let conn = match watches.take() {
            Some(conn) => conn,
            None => open_reader(&self.0.at)?,
        };
        let read = conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut version| version.query_row([], |row| value::read_uint(row, 0)))
            .map_err(|error| {
                fail::convert_sqlite_error(&self.0.at, FailedOperation::Reading, &error)
            });
        *watches = Some(conn);
        read
    }

    /// Reads on a blocking thread.
    pub(super) async fn read_data<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let pool = Arc::clone(&self.0);
        // The semaphore is never closed.
        let _free = self.0.free.acquire().await.ok();
        let done = task::spawn_blocking(move || pool.read_data(look)).await;
        done.unwrap_or_else(|error| {
            let at = self.0.at.display().to_string();
            let cause = error.to_string();
            Err(StoreError::NotRead { at, cause })
        })
    }
}

impl ReaderPoolInner {
    fn read_data<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = idle.map_or_else(|| open_reader(&self.at), Ok)?;
        let found = look(&conn).map_err(|error| error.into_store_error(&self.at));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        found
    }
}

/// The reason why a read failed.
#[derive(Debug)]
pub(super) enum ReadError {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl ReadError {
    /// Converts to an error of the store at this path.
    pub(super) fn into_store_error(self, at: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => fail::convert_sqlite_error(at, FailedOperation::Reading, &error),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Opens a read-only connection.
pub(super) fn open_reader(at: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(at, flags).and_then(|conn| {
        open::configure_connection(&conn)?;
        Ok(conn)
    });
    opened.map_err(|error| fail::convert_sqlite_error(at, FailedOperation::Reading, &error))
}

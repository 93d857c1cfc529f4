//! Conversion of errors of SQLite and of the system to those of the store.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::error::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailedOperation {
    Reading,
    Writing,
}

impl FailedOperation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Reading => "read",
            Self::Writing => "written",
        }
    }

    fn to_error(self, at: String, cause: String) -> StoreError {
        match self {
            Self::Reading => StoreError::NotRead { at, cause },
            Self::Writing => StoreError::NotWritten { at, cause },
        }
    }
}

pub(super) fn convert_sqlite_error(
    path: &Path,
    doing: FailedOperation,
    error: &rusqlite::Error,
) -> StoreError {
    let at = path.display().to_string();
    let cause = error.to_string();
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // A value that differs from the one written there.
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Damaged { at, what: cause },
            _ => doing.to_error(at, cause),
        };
    };
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full { at },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            StoreError::Rights { at: path.to_owned(), wanted: doing.as_str(), cause }
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            StoreError::Damaged { at, what: cause }
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Unavailable { at, cause }
        }
        ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_CORRUPTFS => {
            StoreError::Damaged { at, what: cause }
        }
        _ => doing.to_error(at, cause),
    }
}

/// Converts an error of the system.
pub(super) fn convert_io_error(path: &Path, wanted: &'static str, error: &io::Error) -> StoreError {
    let cause = error.to_string();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { at: path.display().to_string() }
        }
        _ => StoreError::Rights { at: path.to_owned(), wanted, cause },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_database_that_may_not_grow_is_full() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t (x); PRAGMA max_page_count = 2;").unwrap();
        let error = conn.execute("INSERT INTO t VALUES (zeroblob(100000))", []).unwrap_err();
        let found = convert_sqlite_error(Path::new("db"), FailedOperation::Writing, &error);
        assert_eq!(found, StoreError::Full { at: "db".to_owned() });
    }

    #[test]
    fn a_connection_that_only_reads_has_no_right_to_write() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("PRAGMA query_only = ON;").unwrap();
        let error = conn.execute("CREATE TABLE t (x)", []).unwrap_err();
        let found = convert_sqlite_error(Path::new("db"), FailedOperation::Writing, &error);
        assert!(matches!(found, StoreError::Rights { wanted: "written", .. }), "{found}");
    }

    #[test]
    fn the_systems_words_are_kept() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(
            convert_io_error(Path::new("f"), "made", &full),
            StoreError::Full { at: "f".to_owned() }
        );
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let found = convert_io_error(Path::new("f"), "made", &denied);
        assert_eq!(found.to_string(), "f cannot be made: permission denied");
    }
}

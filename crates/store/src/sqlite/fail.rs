//! What SQLite and the system say, in the words of the store.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::error::StoreError;

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
}

impl Doing {
    const fn wanted(self) -> &'static str {
        match self {
            Self::Reading => "read",
            Self::Writing => "written",
        }
    }

    fn failed(self, at: String, cause: String) -> StoreError {
        match self {
            Self::Reading => StoreError::NotRead { at, cause },
            Self::Writing => StoreError::NotWritten { at, cause },
        }
    }
}

/// The store's error for one of SQLite's.
pub(super) fn sqlite(path: &Path, doing: Doing, error: &rusqlite::Error) -> StoreError {
    let (at, cause) = (path.display().to_string(), error.to_string());
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // A value that is not what was written there.
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Damaged { at, what: cause },
            _ => doing.failed(at, cause),
        };
    };
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full { at },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            StoreError::Rights { at: path.to_owned(), wanted: doing.wanted(), cause }
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
        _ => doing.failed(at, cause),
    }
}

/// The store's error for one of the system's.
pub(super) fn system(path: &Path, wanted: &'static str, error: &io::Error) -> StoreError {
    let cause = error.to_string();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { at: path.display().to_string() }
        }
        _ => StoreError::Rights { at: path.to_owned(), wanted, cause },
    }
}

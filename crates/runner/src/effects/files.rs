//! Reads and removes the small files beside the work, and reports what cannot be read or removed.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

/// Removes a file that is no longer needed. A file that cannot be removed is logged.
pub(crate) fn remove_if_exists(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "a file cannot be removed");
        }
        _ => {}
    }
}

/// Reads a file of JSON; `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

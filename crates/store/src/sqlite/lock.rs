//! The lock of a project: a file beside the database that its holder keeps locked.
//!
//! The system releases it when the process ends, in any way. Its content names the holder to other processes;
//! without the lock it has no meaning.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use unstuck_core::time::Time;

use super::{fail, files, mark};
use crate::error::{Holder, StoreError};

/// Maximum number of reads of the holder's name, which is written just after the lock is taken.
const NAME_LOOKS: u32 = 20;
const NAME_WAIT: Duration = Duration::from_millis(5);
/// Minimum length of the written name.
const NAME_BYTES: usize = 256;
/// Maximum length of a valid name.
const NAME_BYTES_MAX: u64 = 64 * 1024;

/// A project that is locked until this is dropped.
#[derive(Debug)]
pub(super) struct ProjectLock {
    _file: File,
}

impl ProjectLock {
    /// Locks a project, or returns its holder as an error.
    pub(super) fn acquire(
        database: &Path,
        project: i64,
        holder: &Holder,
    ) -> Result<Self, StoreError> {
        let path = lock_path(database, project);
        let failed = |error: &std::io::Error| fail::convert_io_error(&path, "written", error);
        let mut file = files::open_private_file(&path).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Held(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        let mut name = serde_json::to_vec(holder).map_err(|error| failed(&error.into()))?;
        // All names are padded to the same length, so that the previous one need not be truncated first: the
        // file system may take milliseconds for that.
        name.resize(name.len().max(NAME_BYTES), b' ');
        file.write_all(&name).map_err(|error| failed(&error))?;
        Ok(Self { _file: file })
    }
}

/// Locks all projects that were ever claimed in a database, or returns the holder of one as an error, because
/// replacing its files affects all of them.
pub(super) fn acquire_all(database: &Path) -> Result<Vec<ProjectLock>, StoreError> {
    let failed = |error: &std::io::Error| fail::convert_io_error(database, "read", error);
    let mut begins = database.file_name().unwrap_or_default().to_owned();
    begins.push(".");
    let mut locks = Vec::new();
    for entry in fs::read_dir(mark::parent_folder(database)).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(begins.as_encoded_bytes()) && name.ends_with(b".lock") {
            let mut file = files::open_private_file(&path).map_err(|error| failed(&error))?;
            match file.try_lock() {
                Ok(()) => locks.push(ProjectLock { _file: file }),
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Held(read_holder(&mut file)));
                }
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
    }
    Ok(locks)
}

/// Returns the lock file of a project.
fn lock_path(database: &Path, project: i64) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(format!(".{project}.lock"));
    PathBuf::from(path)
}

/// Reads the holder of the lock.
fn read_holder(file: &mut File) -> Holder {
    for look in 0..NAME_LOOKS {
        let mut name = Vec::new();
        let read = file.rewind().and_then(|()| file.take(NAME_BYTES_MAX).read_to_end(&mut name));
        if read.is_ok()
            && let Ok(holder) = serde_json::from_slice(&name)
        {
            return holder;
        }
        if look + 1 < NAME_LOOKS {
            thread::sleep(NAME_WAIT);
        }
    }
    Holder { pid: 0, verb: "?".to_owned(), since: Time::EPOCH }
}

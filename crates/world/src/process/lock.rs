//! A run's lock file: only the process that holds it may touch what belongs to the run.
//!
//! The file is never removed; only the lock on it is taken and released, and the kernel releases it
//! when its holder dies, in whatever way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Maximum number of bytes to read of a note, which is a path.
const NOTE_BYTES_MAX: u64 = 4_096;

/// A run's lock, held until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

impl RunLock {
    /// Takes the lock exclusively if no process holds it, without waiting. Only the guard of the
    /// run does this: every process below the exclusive holder belongs to the run.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Self::try_lock(path, File::try_lock)
    }

    /// Takes the lock shared if no guard holds it, without waiting, which keeps guards out. Several
    /// processes may share it at once, and the kernel's table of locks distinguishes them from a
    /// guard.
    pub(super) fn try_share(path: &Path) -> io::Result<Option<Self>> {
        Self::try_lock(path, File::try_lock_shared)
    }

    fn try_lock(
        path: &Path,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path)?;
        match lock(&file) {
            Ok(()) => Ok(Some(Self { file, path: path.canonicalize()? })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the canonical path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a name that no other lock file has.
    #[cfg(target_os = "linux")]
    pub(super) fn cgroup_name(&self) -> io::Result<String> {
        let file = self.file.metadata()?;
        Ok(group_name(file.dev(), file.ino()))
    }

    /// Writes a note for the next holder of the lock.
    #[cfg(target_os = "linux")]
    pub(super) fn write_note(&mut self, note: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(note)
    }

    /// Reads the note of the previous holder.
    #[cfg(target_os = "linux")]
    pub(super) fn read_note(&mut self) -> io::Result<Vec<u8>> {
        let mut note = Vec::new();
        self.file.rewind()?;
        (&self.file).take(NOTE_BYTES_MAX).read_to_end(&mut note)?;
        Ok(note)
    }
}

/// Returns the name of the control group for the lock file with this device and inode.
#[cfg(target_os = "linux")]
pub(super) fn group_name(device: u64, inode: u64) -> String {
    format!("unstuck-{device:x}-{inode:x}")
}

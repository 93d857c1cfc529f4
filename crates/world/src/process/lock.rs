//! A run's lock file: whoever holds it may touch what belongs to the run.
//!
//! The file stays where it is for good; only the lock on it comes and goes, and the kernel lets go
//! of it when its holder dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A note is a path; no more than this is read of it.
const NOTE_BYTES_MAX: u64 = 4_096;

/// A run's lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock if no process holds it, without waiting. Only the guard of the run takes it:
    /// every process below the one that took the lock lives in the run.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Self::try_lock(path, File::try_lock)
    }

    /// Keeps guards from the lock if none holds it, without waiting. Several processes may share it
    /// at once, and the kernel's table of locks tells them from a guard.
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

    /// Where the file is, without links and detours.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name that no other lock file has.
    #[cfg(target_os = "linux")]
    pub(super) fn name(&self) -> io::Result<String> {
        let file = self.file.metadata()?;
        Ok(group_name(file.dev(), file.ino()))
    }

    /// Leaves a note for whoever takes the lock after us.
    #[cfg(target_os = "linux")]
    pub(super) fn write_note(&mut self, note: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(note)
    }

    /// The note of the one who held the lock before us.
    #[cfg(target_os = "linux")]
    pub(super) fn note(&mut self) -> io::Result<Vec<u8>> {
        let mut note = Vec::new();
        self.file.rewind()?;
        (&self.file).take(NOTE_BYTES_MAX).read_to_end(&mut note)?;
        Ok(note)
    }
}

/// The name of the control group of the lock file that this is the device and inode of.
#[cfg(target_os = "linux")]
pub(super) fn group_name(device: u64, inode: u64) -> String {
    format!("unstuck-{device:x}-{inode:x}")
}

//! Locks on files, which only one living process has at a time: that of a run, whose holder alone
//! may touch what belongs to the run, and locks for turns at anything else.
//!
//! The files are never removed, because a removed file could be locked twice. The kernel releases
//! the lock when its holder dies, in whatever way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;

use tokio::sync::oneshot;

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
        let file = open_lock_file(path)?;
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

/// The held lock, until it is dropped or the process dies.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "it is held, not used")] File);

impl FileLock {
    /// Takes the lock, unless another process has it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        Ok(try_lock_file(open_lock_file(path)?)?.ok())
    }

    /// Waits for the lock. No code joins the waiting thread: it ends with the process, and releases
    /// the lock at once if its caller has gone away.
    pub async fn acquire(path: &Path) -> io::Result<Self> {
        let file = match try_lock_file(open_lock_file(path)?)? {
            Ok(lock) => return Ok(lock),
            Err(file) => file,
        };
        let (say, taken) = oneshot::channel();
        let wait = move || {
            let _ = say.send(lock_file(&file).map(|()| Self(file)));
        };
        thread::Builder::new().name("unstuck-turn".to_owned()).spawn(wait)?;
        taken.await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::BrokenPipe)))
    }
}

/// Returns the lock, or the file if another process has the lock.
fn try_lock_file(file: File) -> io::Result<Result<FileLock, File>> {
    match file.try_lock() {
        Ok(()) => Ok(Ok(FileLock(file))),
        Err(TryLockError::WouldBlock) => Ok(Err(file)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_file(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

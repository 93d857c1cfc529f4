//! A lock on a file that only one living process has at a time.
//!
//! The file is never removed, because a removed file could be locked twice. The kernel releases the
//! lock when its holder dies, in whatever way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;

use tokio::sync::oneshot;

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
            Ok(turn) => return Ok(turn),
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

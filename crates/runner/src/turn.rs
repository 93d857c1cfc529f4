//! Whose turn it is: one living process at a time performs a task, whoever holds the project.
//!
//! A holder keeps the others in line while it lives. When it is killed, somebody who waited would
//! take what a living process performs for left behind, because that process has not come to the
//! next holder yet. A lock that only its death takes away says that it will.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;

use tokio::sync::oneshot;

/// The turn at a task, until this is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, not used")] File);

impl Turn {
    /// Takes the turn, unless another process has it.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the turn. The thread that waits is nobody's to wait for: it ends with the process,
    /// and gives the turn up at once if nobody wants it any more.
    pub(crate) async fn take(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let (say, taken) = oneshot::channel();
        let wait = move || {
            let _ = say.send(locked(&file).map(|()| Self(file)));
        };
        thread::Builder::new().name("unstuck-turn".to_owned()).spawn(wait)?;
        taken.await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::BrokenPipe)))
    }
}

fn locked(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

/// The file stays for good: one that is removed could be locked twice.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

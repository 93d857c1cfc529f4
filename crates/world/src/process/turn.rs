//! A turn that only one living process has at a time: a lock on a file.
//!
//! The file stays for good, because one that is removed could be locked twice. The kernel lets go of
//! the lock when its holder dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;

use tokio::sync::oneshot;

/// A turn, until this is dropped or the process dies.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "it is held, not used")] File);

impl Turn {
    /// Takes the turn, unless somebody has it.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        Ok(tried(open(path)?)?.ok())
    }

    /// Waits for the turn. The thread that waits is nobody's to wait for: it ends with the process,
    /// and gives the turn up at once if nobody wants it any more.
    pub async fn take(path: &Path) -> io::Result<Self> {
        let file = match tried(open(path)?)? {
            Ok(turn) => return Ok(turn),
            Err(file) => file,
        };
        let (say, taken) = oneshot::channel();
        let wait = move || {
            let _ = say.send(locked(&file).map(|()| Self(file)));
        };
        thread::Builder::new().name("unstuck-turn".to_owned()).spawn(wait)?;
        taken.await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::BrokenPipe)))
    }
}

/// The turn, or the file where somebody else has it.
fn tried(file: File) -> io::Result<Result<Turn, File>> {
    match file.try_lock() {
        Ok(()) => Ok(Ok(Turn(file))),
        Err(TryLockError::WouldBlock) => Ok(Err(file)),
        Err(TryLockError::Error(error)) => Err(error),
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

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

//! Whose turn it is: one living process at a time performs a task, whoever holds the project.
//!
//! A holder keeps the others in line while it lives. When it is killed, somebody who waited would
//! take what a living process performs for left behind, because that process has not come to the
//! next holder yet. A lock that only its death takes away says that it will.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use tokio::sync::oneshot;
use unstuck_core::engine::TaskId;

/// The turns at the tasks of a project: lock files beside those of its runs.
#[derive(Clone, Debug)]
pub struct Turns {
    folder: PathBuf,
}

impl Turns {
    /// Turns in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Takes the turn at a task, unless another process has it.
    pub(crate) fn try_take(&self, task: TaskId) -> io::Result<Option<Turn>> {
        Turn::try_take(&self.path(task))
    }

    /// The same, waiting for it.
    pub(crate) async fn take(&self, task: TaskId) -> io::Result<Turn> {
        Turn::take(&self.path(task)).await
    }

    /// Whether a process that lives has the turn at a task. One that cannot be asked for has nobody.
    pub(crate) fn is_taken(&self, task: TaskId) -> bool {
        let path = self.path(task);
        path.exists() && matches!(Turn::try_take(&path), Ok(None))
    }

    fn path(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.turn"))
    }
}

/// The turn at a task, until this is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, not used")] File);

impl Turn {
    /// Takes the turn, unless another process has it.
    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the turn. The thread that waits is nobody's to wait for: it ends with the process,
    /// and gives the turn up at once if nobody wants it any more.
    async fn take(path: &Path) -> io::Result<Self> {
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

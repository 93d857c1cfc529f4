//! Whose turn it is: one living process at a time performs a task, whoever holds the project.
//!
//! A holder keeps the others in line while it lives. When it is killed, somebody who waited would
//! take what a living process performs for left behind, because that process has not come to the
//! next holder yet. A lock that only its death takes away says that it will.

use std::io;
use std::path::PathBuf;

use unstuck_core::engine::TaskId;
use unstuck_world::process::Turn;

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
    pub fn try_take(&self, task: TaskId) -> io::Result<Option<Turn>> {
        Turn::try_take(&self.path(task))
    }

    /// The same, waiting for it.
    pub async fn take(&self, task: TaskId) -> io::Result<Turn> {
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

//! Turns: at most one living process at a time performs a task or a build, regardless of the
//! holder.
//!
//! A living holder queues the workers itself. When it is killed, a waiting worker would mistake the
//! task of another living process for left behind, because that process has not connected to the
//! next holder yet. A lock that only the death of its process releases prevents that.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, TaskId};
use unstuck_world::process::FileLock;

/// The turns at the tasks and builds of a project: lock files next to those of its runs.
#[derive(Clone, Debug)]
pub struct TaskLocks {
    folder: PathBuf,
}

impl TaskLocks {
    /// Creates the turns in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Takes the turn at a task; `None` if another process has it.
    pub fn try_lock_task(&self, task: TaskId) -> io::Result<Option<FileLock>> {
        FileLock::try_acquire(&self.lock_path(task))
    }

    /// Takes the turn at a task, and waits while another process has it.
    pub async fn lock_task(&self, task: TaskId) -> io::Result<FileLock> {
        FileLock::acquire(&self.lock_path(task)).await
    }

    /// Takes the turn at a build; `None` if another process has it.
    pub fn try_lock_build(&self, build: BuildId) -> io::Result<Option<FileLock>> {
        FileLock::try_acquire(&self.lock_path(build))
    }

    /// Takes the turn at a build, and waits while another process has it.
    pub async fn lock_build(&self, build: BuildId) -> io::Result<FileLock> {
        FileLock::acquire(&self.lock_path(build)).await
    }

    /// Returns whether a living process has the turn at a task. A lock that cannot be checked
    /// counts as free.
    pub fn is_task_locked(&self, task: TaskId) -> bool {
        is_locked(&self.lock_path(task))
    }

    /// Returns whether a living process has the turn at a build.
    pub fn is_build_locked(&self, build: BuildId) -> bool {
        is_locked(&self.lock_path(build))
    }

    fn lock_path(&self, of: impl Display) -> PathBuf {
        self.folder.join(format!("{of}.turn"))
    }
}

fn is_locked(path: &Path) -> bool {
    path.exists() && matches!(FileLock::try_acquire(path), Ok(None))
}

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
use unstuck_world::process::Turn;

/// The turns at the tasks and builds of a project: lock files next to those of its runs.
#[derive(Clone, Debug)]
pub struct Turns {
    folder: PathBuf,
}

impl Turns {
    /// Creates the turns in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Takes the turn at a task; `None` if another process has it.
    pub fn try_take(&self, task: TaskId) -> io::Result<Option<Turn>> {
        Turn::try_take(&self.path(task))
    }

    /// Takes the turn at a task, and waits while another process has it.
    pub async fn take(&self, task: TaskId) -> io::Result<Turn> {
        Turn::take(&self.path(task)).await
    }

    /// Takes the turn at a build; `None` if another process has it.
    pub fn try_take_build(&self, build: BuildId) -> io::Result<Option<Turn>> {
        Turn::try_take(&self.path(build))
    }

    /// Takes the turn at a build, and waits while another process has it.
    pub async fn take_build(&self, build: BuildId) -> io::Result<Turn> {
        Turn::take(&self.path(build)).await
    }

    /// Returns whether a living process has the turn at a task. A lock that cannot be checked
    /// counts as free.
    pub fn is_taken(&self, task: TaskId) -> bool {
        is_locked(&self.path(task))
    }

    /// Returns whether a living process has the turn at a build.
    pub fn is_build_taken(&self, build: BuildId) -> bool {
        is_locked(&self.path(build))
    }

    fn path(&self, of: impl Display) -> PathBuf {
        self.folder.join(format!("{of}.turn"))
    }
}

fn is_locked(path: &Path) -> bool {
    path.exists() && matches!(Turn::try_take(path), Ok(None))
}

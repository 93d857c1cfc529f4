//! Whose turn it is: one living process at a time performs a task or a build, whoever holds the
//! project.
//!
//! A holder keeps the others in line while it lives. When it is killed, somebody who waited would
//! take what a living process performs for left behind, because that process has not come to the
//! next holder yet. A lock that only its death takes away says that it will.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, TaskId};
use unstuck_world::process::Turn;

/// The turns at the tasks and builds of a project: lock files beside those of its runs.
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

    /// Takes the turn at a build, unless another process has it.
    pub fn try_take_build(&self, build: BuildId) -> io::Result<Option<Turn>> {
        Turn::try_take(&self.path(build))
    }

    /// The same, waiting for it.
    pub async fn take_build(&self, build: BuildId) -> io::Result<Turn> {
        Turn::take(&self.path(build)).await
    }

    /// Whether a process that lives has the turn at a task. What cannot be asked for is free.
    pub fn is_taken(&self, task: TaskId) -> bool {
        is_locked(&self.path(task))
    }

    /// Whether a process that lives has the turn at a build.
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

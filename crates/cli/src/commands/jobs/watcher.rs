//! The lock of the watcher: a single process runs the scheduled jobs of a project.

use std::fs;

use unstuck_store::Holder;
use unstuck_world::process::FileLock;

use crate::error::{CliError, JobsError};
use crate::project::{self, LocalProject};

/// The guard of the watcher; this process runs the jobs until it is dropped.
pub(super) struct WatcherLock {
    _turn: FileLock,
}

impl WatcherLock {
    /// Becomes the watcher, unless another process is.
    pub(super) fn acquire(project: &LocalProject, verb: &str) -> Result<Self, CliError> {
        let unusable = |source| CliError::Folder {
            place: project.watcher_path().display().to_string(),
            source,
        };
        let Some(turn) = FileLock::try_acquire(&project.watcher_lock_path()).map_err(unusable)?
        else {
            return Err(JobsError::Watched { holder: read_watcher(project) }.into());
        };
        let us = serde_json::to_vec(&project::describe_holder(verb)).unwrap_or_default();
        fs::write(project.watcher_path(), us).map_err(unusable)?;
        Ok(Self { _turn: turn })
    }
}

/// Returns the current watcher, if there is one.
pub(crate) fn find_watcher(project: &LocalProject) -> Option<Holder> {
    let path = project.watcher_lock_path();
    let taken = path.exists() && matches!(FileLock::try_acquire(&path), Ok(None));
    taken.then(|| read_watcher(project))
}

/// Returns when there is no watcher any more.
pub(crate) async fn wait_until_gone(project: &LocalProject) {
    // Without the lock there is nothing to wait for.
    let _ = FileLock::acquire(&project.watcher_lock_path()).await;
}

fn read_watcher(project: &LocalProject) -> Holder {
    let written = fs::read(project.watcher_path()).ok();
    let written = written.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    written.unwrap_or_else(|| Holder { pid: 0, ..project::describe_holder("jobs --watch") })
}

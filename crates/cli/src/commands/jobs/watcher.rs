//! The lock of the watcher: a single process runs the scheduled jobs of a project.

use std::fs;

use unstuck_store::Holder;
use unstuck_world::process::Turn;

use crate::error::{Error, JobsError};
use crate::project::{self, Project};

/// The guard of the watcher; this process runs the jobs until it is dropped.
pub(super) struct Watching {
    _turn: Turn,
}

impl Watching {
    /// Becomes the watcher, unless another process is.
    pub(super) fn begin(project: &Project, verb: &str) -> Result<Self, Error> {
        let unusable =
            |source| Error::Folder { place: project.watcher().display().to_string(), source };
        let Some(turn) = Turn::try_take(&project.watcher_lock()).map_err(unusable)? else {
            return Err(JobsError::Watched { holder: named(project) }.into());
        };
        let us = serde_json::to_vec(&project::holder(verb)).unwrap_or_default();
        fs::write(project.watcher(), us).map_err(unusable)?;
        Ok(Self { _turn: turn })
    }
}

/// Returns the current watcher, if there is one.
pub(crate) fn current(project: &Project) -> Option<Holder> {
    let path = project.watcher_lock();
    let taken = path.exists() && matches!(Turn::try_take(&path), Ok(None));
    taken.then(|| named(project))
}

/// Returns when there is no watcher any more.
pub(crate) async fn gone(project: &Project) {
    // Without the lock there is nothing to wait for.
    let _ = Turn::take(&project.watcher_lock()).await;
}

fn named(project: &Project) -> Holder {
    let written = fs::read(project.watcher()).ok();
    let written = written.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    written.unwrap_or_else(|| Holder { pid: 0, ..project::holder("jobs --watch") })
}

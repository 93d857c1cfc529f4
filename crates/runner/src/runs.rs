//! The lock files of runs: a locked file means that processes of that run are alive.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{RunId, TaskId};
use unstuck_world::process::reap_run;

/// Duration of one check of whether an earlier process is gone.
const REAP_PATIENCE: Duration = Duration::from_secs(10);

/// Returns the path of the lock file for the process that performs one action of a task, in the
/// folder of the runs.
pub fn action_lock_path(runs: &Path, task: TaskId, key: &str) -> PathBuf {
    let key = &blake3::hash(key.as_bytes()).to_hex()[..16];
    runs.join(format!("{task}-action-{key}.lock"))
}

/// The folder of the lock files.
#[derive(Clone, Debug)]
pub(crate) struct RunLocks {
    folder: PathBuf,
}

impl RunLocks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of a run's lock file.
    pub(crate) fn lock_path(&self, task: TaskId, run: RunId) -> PathBuf {
        self.folder.join(format!("{task}-{run}.lock"))
    }

    /// Returns the path of a run's socket, by which its processes reach the supervisor.
    pub(crate) fn socket_path(&self, run: RunId) -> PathBuf {
        self.folder.join("sockets").join(run.to_string())
    }

    /// Ends the processes that earlier runs of a task left, and returns whether all are gone.
    pub(crate) async fn reap_task(&self, task: TaskId, stop: &CancellationToken) -> bool {
        self.reap_locks(self.find_task_locks(task), stop).await
    }

    async fn reap_locks(&self, left: Vec<PathBuf>, stop: &CancellationToken) -> bool {
        if left.is_empty() {
            return true;
        }
        let stop = stop.clone();
        let cleared = tokio::task::spawn_blocking(move || reap_all(left, &stop)).await;
        cleared.unwrap_or_else(|error| {
            tracing::error!(%error, "what earlier runs left could not be cleared away");
            false
        })
    }

    /// Ends the process that still performs an action, and returns whether it is gone.
    pub(crate) async fn reap_action(
        &self,
        task: TaskId,
        key: &str,
        stop: &CancellationToken,
    ) -> bool {
        let lock = action_lock_path(&self.folder, task, key);
        let left = if lock.exists() { vec![lock] } else { Vec::new() };
        self.reap_locks(left, stop).await
    }

    /// Returns the lock files that earlier runs of a task left.
    fn find_task_locks(&self, task: TaskId) -> Vec<PathBuf> {
        let prefix = format!("{task}-");
        let of_task = |path: &PathBuf| {
            let is_lock = path.extension().is_some_and(|end| end == "lock");
            is_lock
                && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
        };
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.map(|file| file.path()).filter(of_task).collect()
    }
}

/// Reaps the processes behind the locks. Returns `false` only if cancelled before all are gone.
fn reap_all(locks: Vec<PathBuf>, stop: &CancellationToken) -> bool {
    for path in locks {
        loop {
            match reap_run(&path, REAP_PATIENCE) {
                Ok(_held) => break,
                Err(_) if stop.is_cancelled() => return false,
                Err(fault) => {
                    tracing::error!(message = fault.message, "an old run is not gone");
                }
            }
        }
        let _ = fs::remove_file(path);
    }
    true
}

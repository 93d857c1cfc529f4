//! Lock files of runs, tasks and builds, which show what living processes work on; and the locking
//! of shared data.
//!
//! A living holder queues the workers itself. When it is killed, a waiting worker would mistake the
//! task of another living process for left behind, because that process has not connected to the
//! next holder yet. A lock that only the death of its process releases prevents that.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildId, RunId, TaskId};
use unstuck_world::process::{FileLock, reap_run};

use super::files::remove_if_exists;

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

    /// Ends the processes that earlier runs of these tasks left, and returns when they are gone.
    pub(crate) async fn reap_tasks(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.reap_task(*task, &never).await;
        }
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
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::error!(%error, %task, "what earlier runs left cannot be listed");
                }
                return Vec::new();
            }
        };
        files.flatten().map(|file| file.path()).filter(of_task).collect()
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
        remove_if_exists(&path);
    }
    true
}

/// The turns at the tasks and builds of a project: lock files next to those of its runs. At most
/// one living process at a time performs a task or a build, regardless of the holder.
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
        FileLock::try_acquire(&self.turn_path(task))
    }

    /// Takes the turn at a task, and waits while another process has it.
    pub async fn lock_task(&self, task: TaskId) -> io::Result<FileLock> {
        FileLock::acquire(&self.turn_path(task)).await
    }

    /// Takes the turn at a build; `None` if another process has it.
    pub fn try_lock_build(&self, build: BuildId) -> io::Result<Option<FileLock>> {
        FileLock::try_acquire(&self.turn_path(build))
    }

    /// Takes the turn at a build, and waits while another process has it.
    pub async fn lock_build(&self, build: BuildId) -> io::Result<FileLock> {
        FileLock::acquire(&self.turn_path(build)).await
    }

    /// Returns whether a living process has the turn at a task. A lock that cannot be checked
    /// counts as free.
    pub fn is_task_locked(&self, task: TaskId) -> bool {
        is_locked(&self.turn_path(task))
    }

    /// Returns whether a living process has the turn at a build.
    pub fn is_build_locked(&self, build: BuildId) -> bool {
        is_locked(&self.turn_path(build))
    }

    fn turn_path(&self, of: impl Display) -> PathBuf {
        self.folder.join(format!("{of}.turn"))
    }
}

fn is_locked(path: &Path) -> bool {
    path.exists() && matches!(FileLock::try_acquire(path), Ok(None))
}

/// Locks a mutex and ignores poisoning: the data behind these mutexes is consistent between any two
/// statements, so a panic leaves nothing half done in it.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

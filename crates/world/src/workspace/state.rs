//! The state of a task: the names of its refs and branches, and the files that are kept beside
//! them. These are small and written atomically.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use unstuck_core::engine::{BuildId, RunId, TaskId};
use unstuck_core::fault::{Fault, Internal};

use crate::regular_file::allow_missing;

#[derive(Clone, Debug)]
pub(super) struct TaskStateFolder {
    folder: PathBuf,
}

impl TaskStateFolder {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the supervisor's index: the base, with git's cached data about its
    /// files. It is written last when a worktree is made, so a worktree without it was never
    /// finished.
    pub(super) fn index_file(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Returns the path of a scratch index; its content has no meaning from one step to the next.
    pub(super) fn scratch_index_file(&self) -> PathBuf {
        self.folder.join("index.scratch")
    }

    /// Returns the git folder through which the supervisor looks at the worktree.
    pub(super) fn git_folder(&self) -> PathBuf {
        self.folder.join("git")
    }

    /// Returns the folder in which the agent's repository is put together.
    pub(super) fn staging_folder(&self) -> PathBuf {
        self.folder.join("git.agent")
    }

    /// Returns the folder for files of agents that are no part of a patch.
    pub(super) fn kept_folder(&self) -> PathBuf {
        self.folder.join("kept")
    }

    /// Returns the folder that holds the agent's own version of files while a check runs.
    pub(super) fn own_files_folder(&self) -> PathBuf {
        self.folder.join("own.files")
    }

    /// Returns the folder of the `sitecustomize` module that leads Python to the worktree's own
    /// code.
    pub(super) fn site_folder(&self) -> PathBuf {
        self.folder.join("python")
    }

    /// Returns the folder of those folders that replace the operator's own inside a sandbox.
    pub(super) fn private_folder(&self) -> PathBuf {
        self.folder.join("private")
    }

    pub(super) fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        let path = self.folder.join(name);
        allow_missing(fs::read(&path)).map_err(|error| io_fault(&path, &error))
    }

    pub(super) fn write_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Fault> {
        let path = self.folder.join(name);
        write_atomically(&path, bytes).map_err(|error| io_fault(&path, &error))?;
        Ok(path)
    }

    pub(super) fn delete_file(&self, name: &str) -> Result<(), Fault> {
        let path = self.folder.join(name);
        let removed = allow_missing(fs::remove_file(&path));
        removed.map(drop).map_err(|error| io_fault(&path, &error))
    }

    /// Copies a file over another atomically: readers see the old one or the new one.
    pub(super) fn copy_file(&self, from: &Path, to: &Path) -> Result<(), Fault> {
        let copy = || {
            fs::create_dir_all(&self.folder)?;
            let beside = temporary_path(to);
            fs::copy(from, &beside)?;
            fs::rename(beside, to)
        };
        copy().map_err(|error| io_fault(to, &error))
    }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = temporary_path(path);
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(beside, path)
}

fn temporary_path(path: &Path) -> PathBuf {
    // Two writers of the same file must not take each other's.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or(OsStr::new("file")).to_owned();
    name.push(format!(".{}-{number}.new", std::process::id()));
    path.with_file_name(name)
}

/// Returns the fault for a state file that cannot be read or written.
pub(super) fn io_fault(path: &Path, error: &io::Error) -> Fault {
    let message = format!("{} cannot be used", path.display());
    let component = "workspace".to_owned();
    Fault::internal_error("workspace", message, Internal { component }).with_cause(error)
}

/// A task of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkspaceKey {
    /// The id of the build.
    pub build: BuildId,
    /// The id of the task.
    pub task: TaskId,
}

/// Returns the full name of the branch that a build's tasks land on.
pub(super) fn build_branch_ref(build: BuildId) -> String {
    format!("refs/heads/unstuck/{build}")
}

pub(super) fn build_start_ref(build: BuildId) -> String {
    format!("refs/unstuck/start/{build}")
}

/// Returns the ref of the last known commit of a build's branch, in case that branch is deleted.
pub(super) fn build_tip_ref(build: BuildId) -> String {
    format!("refs/unstuck/tip/{build}")
}

/// Returns the prefix of the refs that back up those of the operator at the start of a build.
pub(super) fn build_backup_prefix(build: BuildId) -> String {
    format!("refs/unstuck/backup/{build}")
}

pub(super) fn attempt_ref(run: RunId) -> String {
    run.saved_ref()
}

/// Returns the email address that an agent commits under, so that reflogs tell what it moved.
pub(super) fn agent_email(run: RunId) -> String {
    format!("{run}@agent.unstuck.invalid")
}

impl WorkspaceKey {
    /// Returns the full name of the branch that the task's worktree is on. Git keeps branches as
    /// files, so it cannot lie below the build's branch.
    pub(super) fn branch_ref(self) -> String {
        format!("refs/heads/unstuck/{}.{}", self.build, self.task)
    }

    /// Returns the ref of the commit that the task's change is counted from.
    pub(super) fn base_ref(self) -> String {
        format!("refs/unstuck/base/{}", self.task)
    }

    /// Returns the ref of the destination of a worktree, which exists only during a move.
    pub(super) fn pending_ref(self) -> String {
        format!("refs/unstuck/pending/{}", self.task)
    }
}

//! The worktree of a task, with access to its base, its indexes and its quarantine.

use std::path::{Path, PathBuf};

use unstuck_core::fault::{Fault, GitOperation};

use super::names::WorkspaceKey;
use super::private::PrivateRepository;
use super::project::{ProjectRepository, missing_fault};
use super::state::TaskStateFolder;
use crate::git::{CommitAuthor, Git, Oid};

/// Name of the state file with the reason why a worktree is quarantined for the operator.
pub(super) const QUARANTINE: &str = "quarantine";

/// The worktree of a task.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) project: ProjectRepository,
    pub(super) place: WorkspaceKey,
    pub(super) directory: PathBuf,
    /// The git folder through which the supervisor looks at the files; the agent has a separate
    /// one.
    pub(super) git_dir: PathBuf,
    /// The agent's own repository; `None` in the operator's own working tree.
    pub(super) private: Option<PrivateRepository>,
    pub(super) git: Git,
    pub(super) state: TaskStateFolder,
    /// The full name of the branch that is checked out.
    pub(super) branch: String,
    /// `true` if the worktree is the operator's own working tree.
    pub(super) in_place: bool,
    /// Paths that are shared with the operator's working tree and belong to no change.
    pub(super) shared: Vec<PathBuf>,
}

impl Workspace {
    /// Returns the folder that the agent works in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the commit that the change is counted from.
    pub async fn resolve_base(&self) -> Result<Oid, Fault> {
        let name = self.place.base_ref();
        let base = self.git.resolve_commit(&name).await?;
        base.ok_or_else(|| {
            missing_fault(format!("{name} is gone"), "the commit the task started from")
        })
    }

    /// Returns the content of a file in the base, or `None` if the base has no such file.
    pub async fn read_base_file(&self, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
        self.git.read_file_at(&self.resolve_base().await?, path).await
    }

    /// Returns the reason why the worktree is quarantined, if it is.
    pub fn quarantine_reason(&self) -> Result<Option<String>, Fault> {
        let why = self.state.read_file(QUARANTINE)?;
        Ok(why.map(|why| String::from_utf8_lossy(&why).into_owned()))
    }

    /// Returns a git client with the supervisor's index, which holds the base.
    pub(super) fn git_with_base_index(&self) -> Git {
        self.git.with_index(self.state.index_file())
    }

    /// Returns a git client with a scratch index, which starts as a copy of the supervisor's.
    pub(super) fn git_with_scratch_index(&self) -> Result<Git, Fault> {
        self.state.copy_file(&self.state.index_file(), &self.state.scratch_index_file())?;
        Ok(self.git.with_index(self.state.scratch_index_file()))
    }

    pub(super) async fn resolve_tree(&self, commit: &Oid) -> Result<Oid, Fault> {
        let tree = self.git.resolve_tree(commit.as_str()).await?;
        tree.ok_or_else(|| missing_fault(format!("{commit} is gone"), "a commit of the task"))
    }

    /// Quarantines the worktree after files could not be restored, and returns the fault: the
    /// worktree is left as it is, and no step runs in it until the operator has looked.
    pub(super) fn quarantine_worktree(&self, cause: &Fault) -> Fault {
        let message = format!("{} is set aside: {}", self.directory.display(), cause.message);
        // If the file cannot be written, the fault still reports it.
        let _ = self.state.write_file(QUARANTINE, message.as_bytes());
        let context = GitOperation { operation: "revert".to_owned(), ..GitOperation::default() };
        Fault::git_revert_failed("git.revert", message, context).with_cause(cause)
    }
}

/// Returns the author of commits that only save a state.
pub(super) fn unstuck_author() -> CommitAuthor {
    CommitAuthor { name: "Unstuck".to_owned(), email: "unstuck@unstuck.invalid".to_owned() }
}

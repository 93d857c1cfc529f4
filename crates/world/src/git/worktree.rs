//! Lists, adds and removes linked working trees of a repository.

use std::ffi::OsStr;
use std::path::Path;

use unstuck_core::fault::Fault;

use super::call::{GitCall, GitOutput};
use super::fail::GitAction;
use super::git::Git;
use super::locks;
use super::oid::Oid;
use super::worktrees::{self, Worktree};
use crate::process::FileLock;

/// Name of a lock file in the shared git folder that is held while git reads all working trees.
const TURN: &str = "unstuck-worktrees.lock";

impl Git {
    /// Returns all working trees, the main one first.
    pub async fn list_worktrees(&self) -> Result<Vec<Worktree>, Fault> {
        let call = self.call(GitAction::Look).args(["worktree", "list", "--porcelain", "-z"]);
        let done = self.run_exclusively(call).await?;
        worktrees::parse_worktrees(&done.stdout).map_err(|_| self.unreadable_fault(GitAction::Look))
    }

    /// Makes a working tree of `commit` at `path`, with a detached head. Replaces a registered one
    /// whose folder is gone, and one that a kill left incomplete.
    pub async fn add_worktree(&self, path: &Path, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(GitAction::Worktree).args(["worktree", "add", "--detach"]);
        let call = call.args(["--force", "--force"]).args([path.as_os_str()]);
        self.run_exclusively(
            call.args([OsStr::new(commit.as_str())]).with_reference(commit.as_str()),
        )
        .await
        .map(drop)
    }

    /// Removes a working tree with all its files. The caller has made sure that none of them is
    /// unsaved.
    pub async fn remove_worktree(&self, path: &Path) -> Result<(), Fault> {
        let call =
            self.call(GitAction::Worktree).args(["worktree", "remove", "--force", "--force"]);
        self.run_exclusively(call.args([path])).await.map(drop)
    }

    /// Runs a command that reads git's data about every working tree, under a lock: git dies of an
    /// entry that another process is just making or removing. Runs without the lock where it cannot
    /// be created, because then no working tree can be created either.
    async fn run_exclusively(&self, call: GitCall<'_>) -> Result<GitOutput, Fault> {
        let _turn = match locks::find_common_dir(self) {
            Some(shared) => FileLock::acquire(&shared.join(TURN)).await.ok(),
            None => None,
        };
        call.run().await
    }

    /// Returns the full name of the branch that `HEAD` is on; `None` for a detached head.
    pub async fn current_branch(&self) -> Result<Option<String>, Fault> {
        let call = self.call(GitAction::Look).args(["symbolic-ref", "--quiet", "HEAD"]);
        let done = call.run_expecting(&[0, 1]).await?;
        let name = String::from_utf8_lossy(done.stdout.trim_ascii_end()).into_owned();
        Ok((done.status == 0).then_some(name))
    }
}

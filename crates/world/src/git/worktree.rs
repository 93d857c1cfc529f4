//! Working trees of a repository.

use std::ffi::OsStr;
use std::path::Path;

use unstuck_core::fault::Fault;

use super::fail::Operation;
use super::git::Git;
use super::oid::Oid;
use super::worktrees::{self, Worktree};

impl Git {
    /// All working trees, the main one first.
    pub async fn worktrees(&self) -> Result<Vec<Worktree>, Fault> {
        let call = self.call(Operation::Look).args(["worktree", "list", "--porcelain", "-z"]);
        let done = call.run().await?;
        worktrees::parse(&done.stdout).map_err(|_| self.unreadable(Operation::Look))
    }

    /// Makes a working tree of `commit` at `path`, on no branch.
    pub async fn add_worktree(&self, path: &Path, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(Operation::Worktree).args(["worktree", "add", "--detach", "--force"]);
        let call = call.args([path.as_os_str(), OsStr::new(commit.as_str())]);
        call.about(commit.as_str()).run().await.map(drop)
    }

    /// Forgets working trees whose folder is gone.
    pub async fn prune_worktrees(&self) -> Result<(), Fault> {
        let call = self.call(Operation::Worktree).args(["worktree", "prune", "--expire=now"]);
        call.run().await.map(drop)
    }

    /// Puts the two sides of a working tree in touch again after its folder was moved.
    pub async fn repair_worktree(&self, path: &Path) -> Result<(), Fault> {
        let call = self.call(Operation::Worktree).args(["worktree", "repair"]).args([path]);
        call.run().await.map(drop)
    }

    /// Removes a working tree with all that is in it. Whoever asks has seen to it that nothing in
    /// it is unsaved.
    pub async fn remove_worktree(&self, path: &Path) -> Result<(), Fault> {
        let call =
            self.call(Operation::Worktree).args(["worktree", "remove", "--force", "--force"]);
        call.args([path]).run().await.map(drop)
    }

    /// The branch that `HEAD` is on, in full; nothing where it is on none.
    pub async fn branch(&self) -> Result<Option<String>, Fault> {
        let call = self.call(Operation::Look).args(["symbolic-ref", "--quiet", "HEAD"]);
        let done = call.run_expecting(&[0, 1]).await?;
        let name = String::from_utf8_lossy(done.stdout.trim_ascii_end()).into_owned();
        Ok((done.status == 0).then_some(name))
    }

    /// The branch that `HEAD` is to be on, whatever it names now.
    pub async fn set_head(&self, branch: &str) -> Result<(), Fault> {
        let call = self.call(Operation::Commit).args(["symbolic-ref", "HEAD", branch]);
        call.about(branch).run().await.map(drop)
    }
}

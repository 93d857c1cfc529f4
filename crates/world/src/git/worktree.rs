//! Working trees of a repository.

use std::ffi::OsStr;
use std::path::Path;

use unstuck_core::fault::Fault;

use super::call::{Call, Done};
use super::fail::Operation;
use super::git::Git;
use super::locks;
use super::oid::Oid;
use super::worktrees::{self, Worktree};
use crate::process::Turn;

/// Held, in what all working trees share, while git looks at all of them.
const TURN: &str = "unstuck-worktrees.lock";

impl Git {
    /// All working trees, the main one first.
    pub async fn worktrees(&self) -> Result<Vec<Worktree>, Fault> {
        let call = self.call(Operation::Look).args(["worktree", "list", "--porcelain", "-z"]);
        let done = self.alone(call).await?;
        worktrees::parse(&done.stdout).map_err(|_| self.unreadable(Operation::Look))
    }

    /// Makes a working tree of `commit` at `path`, on no branch. One that git still knows there, and
    /// whose folder is gone, is forgotten first; so is one that a kill left half made.
    pub async fn add_worktree(&self, path: &Path, commit: &Oid) -> Result<(), Fault> {
        let call = self.call(Operation::Worktree).args(["worktree", "add", "--detach"]);
        let call = call.args(["--force", "--force"]).args([path.as_os_str()]);
        self.alone(call.args([OsStr::new(commit.as_str())]).about(commit.as_str())).await.map(drop)
    }

    /// Removes a working tree with all that is in it. Whoever asks has seen to it that nothing in
    /// it is unsaved.
    pub async fn remove_worktree(&self, path: &Path) -> Result<(), Fault> {
        let call =
            self.call(Operation::Worktree).args(["worktree", "remove", "--force", "--force"]);
        self.alone(call.args([path])).await.map(drop)
    }

    /// Runs a command that reads what git keeps about every working tree: it dies of one that another
    /// process is just making or removing. Where there can be no lock nothing is made either.
    async fn alone(&self, call: Call<'_>) -> Result<Done, Fault> {
        let _turn = match locks::common_dir(self) {
            Some(shared) => Turn::take(&shared.join(TURN)).await.ok(),
            None => None,
        };
        call.run().await
    }

    /// The branch that `HEAD` is on, in full; nothing where it is on none.
    pub async fn branch(&self) -> Result<Option<String>, Fault> {
        let call = self.call(Operation::Look).args(["symbolic-ref", "--quiet", "HEAD"]);
        let done = call.run_expecting(&[0, 1]).await?;
        let name = String::from_utf8_lossy(done.stdout.trim_ascii_end()).into_owned();
        Ok((done.status == 0).then_some(name))
    }
}

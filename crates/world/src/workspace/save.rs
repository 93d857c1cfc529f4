//! Saving an attempt: a commit of everything it changed, under a ref of its own.

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::names::attempt;
use super::workspace::{Workspace, unstuck};
use crate::git::{NewCommit, Oid, RefChange, Swapped};

impl Workspace {
    /// Saves what a run left in the worktree under `refs/unstuck/attempts/<run>`; nothing when it
    /// changed nothing. Neither the person's index nor the agent's is touched.
    pub async fn save(&self, run: RunId, now: Time) -> Result<Option<Oid>, Fault> {
        let base = self.base().await?;
        let tree = self.tree(&self.changes().await?).await?;
        let own = self.take_over_head(&base).await?;
        if own.is_none() && tree == self.tree_of(&base).await? {
            return Ok(None);
        }
        // Its own commits stay within reach.
        let parents: Vec<Oid> = [Some(base), own].into_iter().flatten().collect();
        let message = format!("Attempt {run} of {}\n", self.place.task);
        let saved = self.snapshot_commit(&tree, &parents, &message, now).await?;
        self.point(&attempt(run), &saved).await?;
        Ok(Some(saved))
    }

    /// A commit that only keeps a tree.
    pub(super) async fn snapshot_commit(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        at: Time,
    ) -> Result<Oid, Fault> {
        let person = unstuck();
        let new = NewCommit { tree, parents, message, person: &person, at, signed: false };
        self.git.make_commit(new).await
    }

    /// Lets a ref of ours point somewhere, wherever it points now.
    pub(super) async fn point(&self, name: &str, to: &Oid) -> Result<(), Fault> {
        let old = self.git.commit_of(name).await?;
        let change = RefChange { name: name.to_owned(), old, new: Some(to.clone()) };
        all_moved(self.git.swap(&[change], "unstuck").await?)
    }
}

/// Refs of ours are nobody else's to move.
pub(super) fn all_moved(swapped: Swapped) -> Result<(), Fault> {
    match swapped {
        Swapped::Done => Ok(()),
        Swapped::Moved { name, .. } => {
            let message = format!("{name} is moved by somebody else");
            Err(crate::git::Operation::Commit.fault(message, None, Some(&name)))
        }
    }
}

//! Saves an attempt: a commit of everything it changed, under a ref of its own.

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::names::attempt;
use super::workspace::{Workspace, unstuck};
use crate::git::{NewCommit, Oid, RefChange, Swapped};

impl Workspace {
    /// Saves the changes of a run under `refs/unstuck/attempts/<run>`; returns `None` if there are
    /// none. Touches neither the operator's index nor the agent's.
    pub async fn save(&self, run: RunId, now: Time) -> Result<Option<Oid>, Fault> {
        let base = self.base().await?;
        let tree = self.tree(&self.changes().await?).await?;
        let own = self.take_over_head(&base).await?;
        if own.is_none() && tree == self.tree_of(&base).await? {
            return Ok(None);
        }
        // The agent's own commits stay reachable.
        let parents: Vec<Oid> = [Some(base), own].into_iter().flatten().collect();
        let message = format!("Attempt {run} of {}\n", self.place.task);
        let saved = self.snapshot_commit(&tree, &parents, &message, now).await?;
        self.point(&attempt(run), &saved).await?;
        Ok(Some(saved))
    }

    /// Makes an unsigned commit that only saves a tree.
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

    /// Points a ref of Unstuck at a commit, regardless of its current value.
    pub(super) async fn point(&self, name: &str, to: &Oid) -> Result<(), Fault> {
        let old = self.git.commit_of(name).await?;
        let change = RefChange { name: name.to_owned(), old, new: Some(to.clone()) };
        all_moved(self.git.swap(&[change], "unstuck").await?)
    }
}

/// Returns a fault if a ref of Unstuck, which no other program should move, was moved meanwhile.
pub(super) fn all_moved(swapped: Swapped) -> Result<(), Fault> {
    match swapped {
        Swapped::Done => Ok(()),
        Swapped::Moved { name, .. } => {
            let message = format!("another process moved {name}");
            Err(crate::git::Operation::Commit.fault(message, None, Some(&name)))
        }
    }
}

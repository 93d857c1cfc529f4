//! Saves an attempt: a commit of everything it changed, under a ref of its own.

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::names::attempt_ref;
use super::workspace::{Workspace, unstuck_author};
use crate::git::{NewCommit, Oid, RefChange, RefSwapOutcome};

impl Workspace {
    /// Saves the changes of a run under `refs/unstuck/attempts/<run>`; returns `None` if there are
    /// none. Touches neither the operator's index nor the agent's.
    pub async fn save_attempt(&self, run: RunId, now: Time) -> Result<Option<Oid>, Fault> {
        let base = self.resolve_base().await?;
        let tree = self.write_tree(&self.list_changes().await?).await?;
        let own = self.import_head(&base).await?;
        if own.is_none() && tree == self.resolve_tree(&base).await? {
            return Ok(None);
        }
        // The agent's own commits stay reachable.
        let parents: Vec<Oid> = [Some(base), own].into_iter().flatten().collect();
        let message = format!("Attempt {run} of {}\n", self.place.task);
        let saved = self.commit_snapshot(&tree, &parents, &message, now).await?;
        self.point_ref(&attempt_ref(run), &saved).await?;
        Ok(Some(saved))
    }

    /// Makes an unsigned commit that only saves a tree.
    pub(super) async fn commit_snapshot(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        at: Time,
    ) -> Result<Oid, Fault> {
        let person = unstuck_author();
        let new = NewCommit { tree, parents, message, person: &person, at, signed: false };
        self.git.create_commit(new).await
    }

    /// Points a ref of Unstuck at a commit, regardless of its current value.
    pub(super) async fn point_ref(&self, name: &str, to: &Oid) -> Result<(), Fault> {
        let old = self.git.resolve_commit(name).await?;
        let change = RefChange { name: name.to_owned(), old, new: Some(to.clone()) };
        require_swapped(self.git.swap_refs(&[change], "unstuck").await?)
    }
}

/// Returns a fault if a ref of Unstuck, which no other program should move, was moved meanwhile.
pub(super) fn require_swapped(swapped: RefSwapOutcome) -> Result<(), Fault> {
    match swapped {
        RefSwapOutcome::Done => Ok(()),
        RefSwapOutcome::Moved { name, .. } => {
            let message = format!("another process moved {name}");
            Err(crate::git::GitAction::Commit.to_fault(message, None, Some(&name)))
        }
    }
}

//! Moves the worktree to another tree and base, in a way that survives a kill at any point.
//!
//! The destination is written down first, as a commit under `refs/unstuck/pending`: its tree is the
//! content to reach, its first parent is the new base, its second the previous content of the
//! worktree. The next process that finds that ref finishes the move; doing so twice is the same as
//! once.

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::workspace::Workspace;
use crate::git::{Oid, RefChange, RefSwapOutcome};

impl Workspace {
    /// Makes the worktree hold `tree`, with `base` as its new base. `saved` is a commit of its
    /// current content.
    pub(super) async fn relocate_to(
        &self,
        tree: &Oid,
        base: &Oid,
        saved: &Oid,
        now: Time,
    ) -> Result<(), Fault> {
        let mut parents = vec![base.clone()];
        if saved != base {
            parents.push(saved.clone());
        }
        let to = self.commit_snapshot(tree, &parents, "Where the worktree goes\n", now).await?;
        self.point_ref(&self.place.pending_ref(), &to).await?;
        self.finish_move().await
    }

    /// Finishes a move that was begun, if there is one.
    pub(super) async fn finish_move(&self) -> Result<(), Fault> {
        let pending = self.place.pending_ref();
        let Some(to) = self.git.resolve_commit(&pending).await? else { return Ok(()) };
        let base = self.git.resolve_commit(&format!("{to}^1")).await?.unwrap_or_else(|| to.clone());
        let saved =
            self.git.resolve_commit(&format!("{to}^2")).await?.unwrap_or_else(|| base.clone());
        self.move_files(&to, &base, &saved).await?;
        self.ensure_submodules(&self.git_with_base_index(), &base).await?;
        self.move_refs(&to, &base).await
    }

    async fn move_files(&self, to: &Oid, base: &Oid, saved: &Oid) -> Result<(), Fault> {
        let scratch = self.git_with_scratch_index()?;
        scratch.read_tree(&self.resolve_tree(saved).await?).await?;
        scratch.check_out_tree(&self.resolve_tree(to).await?).await?;
        self.note_untouched_again(&scratch).await?;
        scratch.read_tree(&self.resolve_tree(base).await?).await?;
        self.position_agent_at(base)?;
        self.state.copy_file(&self.state.scratch_index_file(), &self.state.index_file())
    }

    async fn move_refs(&self, to: &Oid, base: &Oid) -> Result<(), Fault> {
        let mut changes =
            vec![RefChange { name: self.place.pending_ref(), old: Some(to.clone()), new: None }];
        let mut moved = vec![self.place.base_ref()];
        if !self.in_place {
            moved.push(self.branch.clone());
        }
        for name in moved {
            let old = self.git.resolve_commit(&name).await?;
            if old.as_ref() != Some(base) {
                changes.push(RefChange { name, old, new: Some(base.clone()) });
            }
        }
        match self.git.swap_refs(&changes, "unstuck: move a worktree").await? {
            RefSwapOutcome::Done => Ok(()),
            RefSwapOutcome::Moved { name, .. } => {
                let message = format!("another process moved {name}");
                Err(crate::git::GitAction::Revert.to_fault(message, None, Some(&name)))
            }
        }
    }
}

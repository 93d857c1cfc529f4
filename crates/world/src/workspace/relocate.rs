//! Moving the worktree to other files, in a way that a kill at any point does not hurt.
//!
//! Where it goes is written down first, as a commit under `refs/unstuck/pending`: its tree is what
//! the worktree is to hold, its first parent is the base from then on, its second what the worktree
//! held before. Whoever finds that ref finishes the move; doing so twice is the same as once.

use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::workspace::Workspace;
use crate::git::{Oid, RefChange, Swapped};

impl Workspace {
    /// Lets the worktree hold `tree`, counted from `base` from now on. `saved` is a commit of what
    /// it holds now.
    pub(super) async fn relocate(
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
        let to = self.snapshot_commit(tree, &parents, "Where the worktree goes\n", now).await?;
        self.point(&self.place.pending(), &to).await?;
        self.finish_move().await
    }

    /// Finishes a move that was begun; nothing where none was.
    pub(super) async fn finish_move(&self) -> Result<(), Fault> {
        let pending = self.place.pending();
        let Some(to) = self.git.commit_of(&pending).await? else { return Ok(()) };
        let base = self.git.commit_of(&format!("{to}^1")).await?.unwrap_or_else(|| to.clone());
        let saved = self.git.commit_of(&format!("{to}^2")).await?.unwrap_or_else(|| base.clone());
        self.move_files(&to, &base, &saved).await?;
        self.have_submodules(&self.ours(), &base).await?;
        self.move_refs(&to, &base).await
    }

    async fn move_files(&self, to: &Oid, base: &Oid, saved: &Oid) -> Result<(), Fault> {
        let scratch = self.scratch()?;
        scratch.read_tree(&self.tree_of(saved).await?).await?;
        scratch.check_out(&self.tree_of(to).await?).await?;
        self.note_untouched_again(&scratch).await?;
        scratch.read_tree(&self.tree_of(base).await?).await?;
        self.stand_at(base)?;
        self.state.copy(&self.state.scratch_index(), &self.state.index())
    }

    async fn move_refs(&self, to: &Oid, base: &Oid) -> Result<(), Fault> {
        let mut changes =
            vec![RefChange { name: self.place.pending(), old: Some(to.clone()), new: None }];
        let mut moved = vec![self.place.base()];
        if !self.in_place {
            moved.push(self.branch.clone());
        }
        for name in moved {
            let old = self.git.commit_of(&name).await?;
            if old.as_ref() != Some(base) {
                changes.push(RefChange { name, old, new: Some(base.clone()) });
            }
        }
        match self.git.swap(&changes, "unstuck: move a worktree").await? {
            Swapped::Done => Ok(()),
            Swapped::Moved { name, .. } => {
                let message = format!("{name} is moved by somebody else");
                Err(crate::git::Operation::Revert.fault(message, None, Some(&name)))
            }
        }
    }
}

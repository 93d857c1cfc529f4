//! Lands a task: its commit becomes the head of the build's branch.

use std::path::PathBuf;

use unstuck_core::fault::Fault;

use super::names::{build_branch_ref, build_tip_ref};
use super::workspace::Workspace;
use crate::git::{Oid, RefChange, RefSwapOutcome};

/// The outcome of landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingOutcome {
    /// The build's branch contains the commit, now or since an earlier call.
    Done,
    /// The build's branch moved on; the change has to be integrated with its new head first.
    HeadMoved {
        /// The new head.
        to: Oid,
    },
    /// A worktree has the build's branch checked out; moving the branch would change what its user
    /// sees.
    InUse {
        /// The path of that worktree.
        by: PathBuf,
    },
}

impl Workspace {
    /// Fast-forwards the build's branch to `commit`, if `commit` is a descendant of its head.
    pub async fn fast_forward_build(&self, commit: &Oid) -> Result<LandingOutcome, Fault> {
        let name = build_branch_ref(self.place.build);
        let head =
            self.project.ensure_build_head(self.place.build, &self.resolve_base().await?).await?;
        // Usually the head is the parent, which needs no search through the history.
        if self.git.resolve_parent(commit).await?.as_ref() != Some(&head) {
            if self.git.is_ancestor(commit, &head).await? {
                return Ok(LandingOutcome::Done);
            }
            if !self.git.is_ancestor(&head, commit).await? {
                return Ok(LandingOutcome::HeadMoved { to: head });
            }
        }
        let worktrees = self.project.git.list_worktrees().await?;
        let user = worktrees.into_iter().find(|tree| tree.branch.as_deref() == Some(&name));
        if let Some(tree) = user {
            return Ok(LandingOutcome::InUse { by: tree.path });
        }
        let tip = build_tip_ref(self.place.build);
        let stood = self.git.resolve_commit(&tip).await?;
        let changes = [
            RefChange { name, old: Some(head), new: Some(commit.clone()) },
            RefChange { name: tip, old: stood, new: Some(commit.clone()) },
        ];
        match self.git.swap_refs(&changes, "unstuck: land a task").await? {
            RefSwapOutcome::Done => Ok(LandingOutcome::Done),
            RefSwapOutcome::Moved { at: Some(to), .. } => Ok(LandingOutcome::HeadMoved { to }),
            RefSwapOutcome::Moved { name, at: None } => {
                Err(super::project::missing_fault(format!("{name} is gone"), "the build's branch"))
            }
        }
    }
}

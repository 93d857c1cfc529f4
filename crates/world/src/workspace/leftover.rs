//! The branches and saved attempts that a build which is over has left behind beside its worktrees.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_core::engine::{BuildId, RunId};
use unstuck_core::fault::Fault;

use super::names::{WorkspaceKey, attempt_ref, build_branch_ref, build_tip_ref};
use super::project::ProjectRepository;
use crate::git::worktrees::Worktree;
use crate::git::{Oid, RefChange, RefSwapOutcome};

/// Prefix of branches.
const HEADS: &str = "refs/heads/";
/// Prefix of Unstuck's branches.
const OURS: &str = "refs/heads/unstuck/";
/// Prefix of remote-tracking branches.
const REMOTES: &str = "refs/remotes/";

/// A branch of a build or of one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverBranch {
    /// The full name of the branch.
    pub name: String,
    /// The commit it points to.
    pub at: Oid,
    /// The state that decides whether the branch can be deleted.
    pub branch: BranchStatus,
}

/// The state of a branch that decides whether it can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// Another branch contains all of its commits.
    Free,
    /// Number of its commits that no other branch contains.
    Needed(usize),
    /// A worktree at this path has it checked out.
    InUse(PathBuf),
}

impl ProjectRepository {
    /// Returns the folder of a task's worktree, if it exists.
    pub fn find_worktree(&self, place: WorkspaceKey) -> Option<PathBuf> {
        Some(self.worktree_folder(place)).filter(|folder| folder.is_dir())
    }

    /// Returns the full name of the branch that a task's worktree is on.
    pub fn task_branch(place: WorkspaceKey) -> String {
        place.branch_ref()
    }

    /// Returns the branches of a build and of its tasks, and whether they can be deleted. Worktrees
    /// of tasks do not count as users of them; the caller looks at those separately.
    pub async fn list_build_branches(&self, build: BuildId) -> Result<Vec<LeftoverBranch>, Fault> {
        let refs = self.git.list_refs(&[HEADS, REMOTES]).await?;
        let whole = build_branch_ref(build);
        let part = format!("{}.", build_branch_ref(build));
        let (ours, persons): (BTreeMap<_, _>, BTreeMap<_, _>) =
            refs.into_iter().partition(|(name, _)| name.starts_with(OURS));
        let build_tip = ours.get(&whole).cloned();
        let worktrees = self.git.list_worktrees().await?;
        let foreign = |tree: &&Worktree| !tree.path.starts_with(self.worktrees_folder());
        let others: Vec<&Worktree> = worktrees.iter().filter(foreign).collect();
        let mut found = Vec::new();
        for (name, at) in ours {
            let of_task = name.starts_with(&part);
            if name != whole && !of_task {
                continue;
            }
            // The commits of a task are safe in its build's branch, which is deleted only when the
            // operator's branches have them.
            let build = build_tip.iter().filter(|_| of_task);
            let user = others.iter().find(|tree| tree.branch.as_deref() == Some(&name));
            let branch = match user {
                Some(tree) => BranchStatus::InUse(tree.path.clone()),
                None => self.assess_branch(&at, persons.values().chain(build)).await?,
            };
            found.push(LeftoverBranch { name, at, branch });
        }
        Ok(found)
    }

    async fn assess_branch<'a>(
        &self,
        tip: &Oid,
        persons: impl Iterator<Item = &'a Oid>,
    ) -> Result<BranchStatus, Fault> {
        let mut fewest = usize::MAX;
        for other in persons {
            if self.git.contains_work_of(other, tip).await? {
                return Ok(BranchStatus::Free);
            }
            fewest = fewest.min(self.git.list_commits(other, tip).await?.len());
        }
        Ok(BranchStatus::Needed(fewest))
    }

    /// Deletes a branch of a build that is free, if it has not moved. Returns whether it is
    /// deleted, by this call or an earlier one.
    pub async fn delete_branch(
        &self,
        build: BuildId,
        leftover: &LeftoverBranch,
    ) -> Result<bool, Fault> {
        let LeftoverBranch { name, at, branch } = leftover;
        if *branch != BranchStatus::Free {
            return Ok(false);
        }
        let mut gone = vec![RefChange { name: name.clone(), old: Some(at.clone()), new: None }];
        if *name == build_branch_ref(build) {
            let tip = build_tip_ref(build);
            let old = self.git.resolve_commit(&tip).await?;
            gone.extend(old.map(|old| RefChange { name: tip, old: Some(old), new: None }));
        }
        Ok(self.git.swap_refs(&gone, "unstuck: clean").await? == RefSwapOutcome::Done)
    }

    /// Returns the number of these runs whose attempt is saved.
    pub async fn count_attempts(&self, runs: &[RunId]) -> Result<usize, Fault> {
        let saved = self.git.list_refs(&["refs/unstuck/attempts/"]).await?;
        Ok(runs.iter().filter(|run| saved.contains_key(&attempt_ref(**run))).count())
    }
}

//! What a build that is over has left behind beside its worktrees: branches and saved attempts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_core::engine::{BuildId, RunId};
use unstuck_core::fault::Fault;

use super::names::{Place, attempt, build_branch, build_tip};
use super::project::Project;
use crate::git::worktrees::Worktree;
use crate::git::{Oid, RefChange, Swapped};

/// Where branches are.
const HEADS: &str = "refs/heads/";
/// Where ours are among them.
const OURS: &str = "refs/heads/unstuck/";
/// Where the branches of other repositories are, as far as they are known here.
const REMOTES: &str = "refs/remotes/";

/// A branch of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its full name.
    pub name: String,
    /// Where it stands.
    pub at: Oid,
    /// Whether it may go.
    pub branch: Branch,
}

/// Whether a branch may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// All of it is in a branch of the person's.
    Free,
    /// Some of it is in no branch of the person's: so many commits.
    Needed(usize),
    /// Somebody has it checked out.
    InUse(PathBuf),
}

impl Project {
    /// The folder of a task's worktree, if there is one.
    pub fn worktree_of(&self, place: Place) -> Option<PathBuf> {
        Some(self.worktree(place)).filter(|folder| folder.is_dir())
    }

    /// The branch that a task's worktree is on, in full.
    pub fn task_branch(place: Place) -> String {
        place.branch()
    }

    /// The branches of a build and of its tasks, and which of them may go. Worktrees of ours that
    /// are on them do not count as using them; those are looked at by themselves.
    pub async fn branches_of(&self, build: BuildId) -> Result<Vec<Leftover>, Fault> {
        let refs = self.git.refs(&[HEADS, REMOTES]).await?;
        let (whole, part) = (build_branch(build), format!("{}.", build_branch(build)));
        let (ours, persons): (BTreeMap<_, _>, BTreeMap<_, _>) =
            refs.into_iter().partition(|(name, _)| name.starts_with(OURS));
        let build_tip = ours.get(&whole).cloned();
        let worktrees = self.git.worktrees().await?;
        let foreign = |tree: &&Worktree| !tree.path.starts_with(self.worktrees());
        let others: Vec<&Worktree> = worktrees.iter().filter(foreign).collect();
        let mut found = Vec::new();
        for (name, at) in ours {
            let of_task = name.starts_with(&part);
            if name != whole && !of_task {
                continue;
            }
            // What a task did is safe in its build's branch, which goes only when the person has it.
            let build = build_tip.iter().filter(|_| of_task);
            let user = others.iter().find(|tree| tree.branch.as_deref() == Some(&name));
            let branch = match user {
                Some(tree) => Branch::InUse(tree.path.clone()),
                None => self.needed_beside(&at, persons.values().chain(build)).await?,
            };
            found.push(Leftover { name, at, branch });
        }
        Ok(found)
    }

    async fn needed_beside<'a>(
        &self,
        tip: &Oid,
        persons: impl Iterator<Item = &'a Oid>,
    ) -> Result<Branch, Fault> {
        let mut fewest = usize::MAX;
        for other in persons {
            if self.git.has_all_of(other, tip).await? {
                return Ok(Branch::Free);
            }
            fewest = fewest.min(self.git.commits(other, tip).await?.len());
        }
        Ok(Branch::Needed(fewest))
    }

    /// Removes a branch of a build that may go, if it stands where it did. Tells whether it is gone, now
    /// or since an earlier time.
    pub async fn forget_branch(&self, build: BuildId, leftover: &Leftover) -> Result<bool, Fault> {
        let Leftover { name, at, branch } = leftover;
        if *branch != Branch::Free {
            return Ok(false);
        }
        let mut gone = vec![RefChange { name: name.clone(), old: Some(at.clone()), new: None }];
        if *name == build_branch(build) {
            let tip = build_tip(build);
            let old = self.git.commit_of(&tip).await?;
            gone.extend(old.map(|old| RefChange { name: tip, old: Some(old), new: None }));
        }
        Ok(self.git.swap(&gone, "unstuck: clean").await? == Swapped::Done)
    }

    /// How many attempts of these runs are saved.
    pub async fn attempts_of(&self, runs: &[RunId]) -> Result<usize, Fault> {
        let saved = self.git.refs(&["refs/unstuck/attempts/"]).await?;
        Ok(runs.iter().filter(|run| saved.contains_key(&attempt(**run))).count())
    }
}

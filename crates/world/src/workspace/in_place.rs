//! Work in the operator's own working tree.
//!
//! The tree has to be clean and at the commit that the build continues from, so that every later
//! difference is the task's. The operator's branch moves by the supervisor's commit alone: commits
//! of an agent there are reverted after its attempt, and if the branch was moved otherwise
//! meanwhile, no commit is put on top of it.
//!
//! While a task that works there waits, the operator may continue with other work. The differences
//! at the end of an attempt are recorded, so that later differences are known to be the operator's:
//! they are neither committed nor reverted with the task.

use std::path::PathBuf;

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::footprint::Footprint;
use super::project::{ProjectRepository, missing_fault};
use super::state::WorkspaceKey;
use super::workspace::{Workspace, point_refs};
use crate::git::Oid;

/// Name of the state file that says that a task works in the operator's own tree, with the branch.
pub(super) const IN_PLACE: &str = "in-place";
/// Name of the state file with the commit that was made of a task's change.
const COMMIT: &str = "commit";
/// Name that stands for a detached head.
const HEAD: &str = "HEAD";

impl Workspace {
    pub(super) async fn prepare_in_place(
        project: &ProjectRepository,
        place: WorkspaceKey,
        build_head: &Oid,
    ) -> Result<Self, Fault> {
        let state = project.task_state(place);
        let git = project.git_in_place();
        // The supervisor's index comes last: its presence says that the tree is taken.
        if git.resolve_commit(&place.base_ref()).await?.is_none() || !state.index_file().is_file() {
            project.require_clean().await?;
            let head = git.resolve_head().await?;
            if head != *build_head {
                let root = project.root.display();
                let message = format!("{root} is not at {build_head}, where the build stands");
                return Err(missing_fault(message, "the build's commit in the working tree"));
            }
            let branch = git.current_branch().await?.unwrap_or_else(|| HEAD.to_owned());
            state.write_file(IN_PLACE, branch.as_bytes())?;
            point_refs(project, [place.base_ref()], &head).await?;
            state.copy_file(&project.layout.git_dir.join("index"), &state.index_file())?;
        }
        let workspace = Self::open_in_place(project, place).await?;
        workspace.separate_person_changes().await?;
        Ok(workspace)
    }

    /// Returns the workspace of the operator's tree, as a task has taken it.
    pub(super) async fn open_in_place(
        project: &ProjectRepository,
        place: WorkspaceKey,
    ) -> Result<Self, Fault> {
        let git_dir = project.layout.git_dir.clone();
        let state = project.task_state(place);
        let git = project.git_in_place();
        let branch = git.current_branch().await?.unwrap_or_else(|| HEAD.to_owned());
        let taken = state.read_file(IN_PLACE)?.unwrap_or_default();
        if taken != branch.as_bytes() {
            let taken = String::from_utf8_lossy(&taken);
            let message = format!("{} is on {branch} and not on {taken}", project.root.display());
            return Err(missing_fault(message, "the branch that the task was begun on"));
        }
        Ok(Self {
            project: project.clone(),
            place,
            directory: project.checkout.clone(),
            branch,
            private: None,
            git_dir,
            git,
            state,
            in_place: true,
            shared: Vec::new(),
        })
    }

    /// Points the task's branch at the commit of its change. Fails in the operator's tree if the
    /// branch has moved otherwise.
    pub(super) async fn point_branch(&self, base: &Oid, commit: &Oid) -> Result<(), Fault> {
        if self.in_place {
            let tip = self.git.resolve_commit(&self.branch).await?;
            if tip.as_ref() != Some(base) && tip != self.read_noted_commit()? {
                let message = format!("another process moved {}", self.branch);
                return Err(missing_fault(message, "the branch as the task found it"));
            }
            self.state.write_file(COMMIT, commit.as_str().as_bytes())?;
        }
        self.point_ref(&self.branch, commit).await?;
        self.point_private_branch(commit)
    }

    /// Returns the commit that was made in the operator's tree on top of the base, or the base if
    /// there is none.
    pub(super) async fn find_commit_in_place(&self, base: Oid) -> Result<Oid, Fault> {
        match self.read_noted_commit()? {
            Some(made) if self.git.is_ancestor(&base, &made).await? => Ok(made),
            _ => Ok(base),
        }
    }

    fn read_noted_commit(&self) -> Result<Option<Oid>, Fault> {
        Ok(self.state.read_file(COMMIT)?.and_then(|noted| Oid::parse(&noted)))
    }
}

/// Name of the state file with the differences from the base at the end of the last attempt.
const LEFT: &str = "left";

impl Workspace {
    /// Records the state of the operator's tree at the end of an attempt.
    pub async fn note_tree_left(&self) -> Result<(), Fault> {
        if !self.in_place {
            return Ok(());
        }
        let left = self.compare_with_base().await?;
        self.state.write_file(LEFT, &left.encode()).map(drop)
    }

    /// Returns every difference between the operator's tree and the base, with digests.
    async fn compare_with_base(&self) -> Result<Footprint, Fault> {
        let differing = self.compare_with_index(&self.git_with_base_index()).await?;
        Ok(differing.with_content(&self.directory))
    }

    /// Attributes changes since the end of the last attempt to the operator. Returns the files of
    /// the task that the operator has changed as well, which stay the task's.
    async fn separate_person_changes(&self) -> Result<Vec<PathBuf>, Fault> {
        let Some(left) = self.state.read_file(LEFT)? else { return Ok(Vec::new()) };
        let left = Footprint::decode(&left);
        let there = self.compare_with_base().await?;
        let mut known = self.read_footprint()?;
        let of_both = known.add_beyond(&left, &there);
        self.write_footprint(&known)?;
        self.state.delete_file(LEFT)?;
        Ok(of_both)
    }

    /// Removes the work of a task that was left out from the operator's own tree, and saves it as
    /// an attempt. Does nothing if the tree is quarantined, or is not as the task left it: another
    /// branch is checked out, the branch has moved on, or the operator has changed the same files.
    pub async fn withdraw_skipped_work(
        project: &ProjectRepository,
        place: WorkspaceKey,
        run: RunId,
        now: Time,
    ) -> Result<Option<Oid>, Fault> {
        let state = project.task_state(place);
        if state.read_file(IN_PLACE)?.is_none() || !state.index_file().is_file() {
            return Ok(None);
        }
        let Ok(workspace) = Self::open_in_place(project, place).await else { return Ok(None) };
        if workspace.quarantine_reason()?.is_some() {
            return Ok(None);
        }
        workspace.finish_move().await?;
        let base = workspace.resolve_base().await?;
        let has_moved_on = workspace.git.resolve_head().await? != base;
        if has_moved_on || !workspace.separate_person_changes().await?.is_empty() {
            state.delete_file("index")?;
            return Ok(None);
        }
        let saved = workspace.save_attempt(run, now).await?;
        if let Some(saved) = &saved {
            let tree = workspace.resolve_tree(&base).await?;
            workspace.relocate_to(&tree, &base, saved, now).await?;
        }
        state.delete_file("index")?;
        Ok(saved)
    }
}

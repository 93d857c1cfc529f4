//! The operator's own tree between two attempts, and after a task in it was left out.
//!
//! While a task that works there waits, the operator may continue with other work. The differences
//! at the end of an attempt are recorded, so that later differences are known to be the operator's:
//! they are neither committed nor reverted with the task.

use std::path::PathBuf;

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::footprint::Footprint;
use super::in_place::IN_PLACE;
use super::names::WorkspaceKey;
use super::project::ProjectRepository;
use super::workspace::Workspace;
use crate::git::Oid;

/// Name of the state file with the differences from the base at the end of the last attempt.
const LEFT: &str = "left";

impl Workspace {
    /// Records the state of the operator's tree at the end of an attempt.
    pub async fn note_tree_left(&self) -> Result<(), Fault> {
        if !self.in_place {
            return Ok(());
        }
        let left = self
            .compare_with_index(&self.git_with_base_index())
            .await?
            .with_content(&self.directory);
        self.state.write_file(LEFT, &left.encode()).map(drop)
    }

    /// Attributes changes since the end of the last attempt to the operator. Returns the files of
    /// the task that the operator has changed as well, which stay the task's.
    pub(super) async fn separate_person_changes(&self) -> Result<Vec<PathBuf>, Fault> {
        let Some(left) = self.state.read_file(LEFT)? else { return Ok(Vec::new()) };
        let left = Footprint::decode(&left);
        let there = self
            .compare_with_index(&self.git_with_base_index())
            .await?
            .with_content(&self.directory);
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

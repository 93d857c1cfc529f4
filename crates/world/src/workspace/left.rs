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
use super::names::Place;
use super::project::Project;
use super::workspace::Workspace;
use crate::git::Oid;

/// Name of the state file with the differences from the base at the end of the last attempt.
const LEFT: &str = "left";

impl Workspace {
    /// Records the state of the operator's tree at the end of an attempt.
    pub async fn note_left(&self) -> Result<(), Fault> {
        if !self.in_place {
            return Ok(());
        }
        let left = self.differing(&self.ours()).await?.with_content(&self.directory);
        self.state.write(LEFT, &left.encode()).map(drop)
    }

    /// Attributes changes since the end of the last attempt to the operator. Returns the files of
    /// the task that the operator has changed as well, which stay the task's.
    pub(super) async fn tell_apart(&self) -> Result<Vec<PathBuf>, Fault> {
        let Some(left) = self.state.read(LEFT)? else { return Ok(Vec::new()) };
        let left = Footprint::decode(&left);
        let there = self.differing(&self.ours()).await?.with_content(&self.directory);
        let mut known = self.footprint()?;
        let of_both = known.add_beyond(&left, &there);
        self.keep_footprint(&known)?;
        self.state.forget(LEFT)?;
        Ok(of_both)
    }

    /// Removes the work of a task that was left out from the operator's own tree, and saves it as
    /// an attempt. Does nothing if the tree is quarantined, or is not as the task left it: another
    /// branch is checked out, the branch has moved on, or the operator has changed the same files.
    pub async fn take_left_out(
        project: &Project,
        place: Place,
        run: RunId,
        now: Time,
    ) -> Result<Option<Oid>, Fault> {
        let state = project.state(place);
        if state.read(IN_PLACE)?.is_none() || !state.index().is_file() {
            return Ok(None);
        }
        let Ok(workspace) = Self::in_place_at(project, place).await else { return Ok(None) };
        if workspace.quarantined()?.is_some() {
            return Ok(None);
        }
        workspace.finish_move().await?;
        let base = workspace.base().await?;
        let has_moved_on = workspace.git.head().await? != base;
        if has_moved_on || !workspace.tell_apart().await?.is_empty() {
            state.forget("index")?;
            return Ok(None);
        }
        let saved = workspace.save(run, now).await?;
        if let Some(saved) = &saved {
            let tree = workspace.tree_of(&base).await?;
            workspace.relocate(&tree, &base, saved, now).await?;
        }
        state.forget("index")?;
        Ok(saved)
    }
}

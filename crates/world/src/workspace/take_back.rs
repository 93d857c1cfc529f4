//! Reverts exactly the part of a change that is outside the scope.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::{ChangeKind, WorktreeChange, WorktreeContent};
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::Oid;
use crate::git::raw::DifferenceKind;

/// The result of a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertReport {
    /// The reverted paths, in the order of the changes.
    pub paths: Vec<PathBuf>,
    /// The file with the reverted change, as a patch against the worktree after the revert.
    pub patch: PathBuf,
}

impl Workspace {
    /// Restores these paths to their state in the base: edits, new files, deletions, modes, links.
    /// Saves the previous state as a patch first; moves a nested repository aside as it is. A
    /// failure is `GIT_REVERT_FAILED` and quarantines the worktree.
    pub async fn revert_paths(
        &self,
        paths: &[PathBuf],
        run: RunId,
        now: Time,
    ) -> Result<RevertReport, Fault> {
        self.finish_move().await?;
        let changes = self.list_changes().await?;
        let wanted: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let (out, _): (Vec<WorktreeChange>, Vec<WorktreeChange>) =
            changes.iter().cloned().partition(|change| wanted.contains(change.path.as_path()));
        let taken = self.revert_changes(&changes, &out, run, now).await;
        taken.map_err(|cause| self.quarantine_worktree(&cause))
    }

    /// Reverts an agent's changes to these paths. A file that it moved there goes back to its old
    /// path.
    pub async fn revert_work(
        &self,
        paths: &[PathBuf],
        run: RunId,
        now: Time,
    ) -> Result<RevertReport, Fault> {
        let differences = self.list_differences().await?;
        let moved = differences.into_iter().filter(|of| of.what == DifferenceKind::Renamed);
        let sources = moved.filter(|of| paths.contains(&of.path)).filter_map(|of| of.from);
        let paths: Vec<PathBuf> = paths.iter().cloned().chain(sources).collect();
        self.revert_paths(&paths, run, now).await
    }

    /// Restores the worktree to an earlier state of the same attempt. Saves the previous state as a
    /// patch first. A failure is `GIT_REVERT_FAILED` and quarantines the worktree.
    pub async fn restore_content(
        &self,
        then: &WorktreeContent,
        run: RunId,
        now: Time,
    ) -> Result<(), Fault> {
        let there = self.capture_content().await?;
        if there == *then {
            return Ok(());
        }
        let gone_back = self.undo_since(&there, then, run, now).await;
        gone_back.map_err(|cause| self.quarantine_worktree(&cause))
    }

    async fn undo_since(
        &self,
        there: &WorktreeContent,
        then: &WorktreeContent,
        run: RunId,
        now: Time,
    ) -> Result<(), Fault> {
        let patch = self.git.create_patch(&then.tree, &there.tree).await?;
        self.write_patch(run, &patch)?;
        let parents = [there.base.clone()];
        let saved = self.commit_snapshot(&there.tree, &parents, "Before going back\n", now).await?;
        self.relocate_to(&then.tree, &there.base, &saved, now).await
    }

    async fn revert_changes(
        &self,
        changes: &[WorktreeChange],
        out: &[WorktreeChange],
        run: RunId,
        now: Time,
    ) -> Result<RevertReport, Fault> {
        let base = self.resolve_base().await?;
        let whole = self.write_tree(changes).await?;
        let rest = self.write_tree_without(&base, out).await?;
        let patch = self.git.create_patch(&rest, &whole).await?;
        let patch = self.write_patch(run, &patch)?;
        self.move_repositories_aside(out, run)?;
        let parents = [base.clone()];
        let saved = self.commit_snapshot(&whole, &parents, "Before taking back\n", now).await?;
        self.relocate_to(&rest, &base, &saved, now).await?;
        let paths: Vec<PathBuf> = out.iter().map(|change| change.path.clone()).collect();
        let left = self.list_changes().await?;
        match left.iter().find(|change| paths.contains(&change.path)) {
            None => Ok(RevertReport { paths, patch }),
            Some(change) => {
                let message = format!("{} could not be taken back", change.path.display());
                Err(crate::git::GitAction::Revert.to_fault(message, None, None))
            }
        }
    }

    /// Writes the worktree as a tree, with these paths as the base has them. Expects the scratch
    /// index to hold the whole worktree still.
    async fn write_tree_without(&self, base: &Oid, out: &[WorktreeChange]) -> Result<Oid, Fault> {
        let scratch = self.git.with_index(self.state.scratch_index_file());
        let base = self.resolve_tree(base).await?;
        scratch.reset_index_paths(&base, out.iter().map(|change| change.path.as_path())).await?;
        scratch.write_tree().await
    }

    /// Saves a patch under the first free numbered name of the run.
    fn write_patch(&self, run: RunId, patch: &[u8]) -> Result<PathBuf, Fault> {
        let mut names = (1..).map(|n: u32| format!("patches/{run}-{n}.patch"));
        let free = |name: &String| {
            let file = Path::new(name).file_name().unwrap_or_default();
            !self.state.patches_folder().join(file).exists()
        };
        let name = names.find(free).unwrap_or_default();
        self.state.write_file(&name, patch)
    }

    fn move_repositories_aside(&self, out: &[WorktreeChange], run: RunId) -> Result<(), Fault> {
        for change in out.iter().filter(|change| change.kind == ChangeKind::Repository) {
            let to = self.state.kept_folder().join(run.to_string()).join(&change.path);
            let from = self.directory.join(&change.path);
            let folder = to.parent().unwrap_or(&to);
            let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(&from, &to));
            moved.map_err(|error| io_fault(&from, &error))?;
        }
        Ok(())
    }
}

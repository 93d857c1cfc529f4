//! Reverts exactly the part of a change that is outside the scope.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::{Change, ChangeKind, Content};
use super::state::failed;
use super::workspace::Workspace;
use crate::git::Oid;
use crate::git::raw::What;

/// The result of a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The reverted paths, in the order of the changes.
    pub paths: Vec<PathBuf>,
    /// The file with the reverted change, as a patch against the worktree after the revert.
    pub patch: PathBuf,
}

impl Workspace {
    /// Restores these paths to their state in the base: edits, new files, deletions, modes, links.
    /// Saves the previous state as a patch first; moves a nested repository aside as it is. A
    /// failure is `GIT_REVERT_FAILED` and quarantines the worktree.
    pub async fn take_back(
        &self,
        paths: &[PathBuf],
        run: RunId,
        now: Time,
    ) -> Result<TakenBack, Fault> {
        self.finish_move().await?;
        let changes = self.changes().await?;
        let wanted: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let (out, _): (Vec<Change>, Vec<Change>) =
            changes.iter().cloned().partition(|change| wanted.contains(change.path.as_path()));
        let taken = self.take_out(&changes, &out, run, now).await;
        taken.map_err(|cause| self.quarantine(&cause))
    }

    /// Reverts an agent's changes to these paths. A file that it moved there goes back to its old
    /// path.
    pub async fn take_back_work(
        &self,
        paths: &[PathBuf],
        run: RunId,
        now: Time,
    ) -> Result<TakenBack, Fault> {
        let differences = self.differences().await?;
        let moved = differences.into_iter().filter(|of| of.what == What::Renamed);
        let sources = moved.filter(|of| paths.contains(&of.path)).filter_map(|of| of.from);
        let paths: Vec<PathBuf> = paths.iter().cloned().chain(sources).collect();
        self.take_back(&paths, run, now).await
    }

    /// Restores the worktree to an earlier state of the same attempt. Saves the previous state as a
    /// patch first. A failure is `GIT_REVERT_FAILED` and quarantines the worktree.
    pub async fn go_back_to(&self, then: &Content, run: RunId, now: Time) -> Result<(), Fault> {
        let there = self.content().await?;
        if there == *then {
            return Ok(());
        }
        let gone_back = self.undo(&there, then, run, now).await;
        gone_back.map_err(|cause| self.quarantine(&cause))
    }

    async fn undo(
        &self,
        there: &Content,
        then: &Content,
        run: RunId,
        now: Time,
    ) -> Result<(), Fault> {
        let patch = self.git.patch(&then.tree, &there.tree).await?;
        self.keep_patch(run, &patch)?;
        let parents = [there.base.clone()];
        let saved = self.snapshot_commit(&there.tree, &parents, "Before going back\n", now).await?;
        self.relocate(&then.tree, &there.base, &saved, now).await
    }

    async fn take_out(
        &self,
        changes: &[Change],
        out: &[Change],
        run: RunId,
        now: Time,
    ) -> Result<TakenBack, Fault> {
        let base = self.base().await?;
        let whole = self.tree(changes).await?;
        let rest = self.without(&base, out).await?;
        let patch = self.git.patch(&rest, &whole).await?;
        let patch = self.keep_patch(run, &patch)?;
        self.move_repositories(out, run)?;
        let parents = [base.clone()];
        let saved = self.snapshot_commit(&whole, &parents, "Before taking back\n", now).await?;
        self.relocate(&rest, &base, &saved, now).await?;
        let paths: Vec<PathBuf> = out.iter().map(|change| change.path.clone()).collect();
        let left = self.changes().await?;
        match left.iter().find(|change| paths.contains(&change.path)) {
            None => Ok(TakenBack { paths, patch }),
            Some(change) => {
                let message = format!("{} could not be taken back", change.path.display());
                Err(crate::git::Operation::Revert.fault(message, None, None))
            }
        }
    }

    /// Writes the worktree as a tree, with these paths as the base has them. Expects the scratch
    /// index to hold the whole worktree still.
    async fn without(&self, base: &Oid, out: &[Change]) -> Result<Oid, Fault> {
        let scratch = self.git.with_index(self.state.scratch_index());
        let base = self.tree_of(base).await?;
        scratch.put_back(&base, out.iter().map(|change| change.path.as_path())).await?;
        scratch.write_tree().await
    }

    /// Saves a patch under the first free numbered name of the run.
    fn keep_patch(&self, run: RunId, patch: &[u8]) -> Result<PathBuf, Fault> {
        let mut names = (1..).map(|n: u32| format!("patches/{run}-{n}.patch"));
        let free = |name: &String| {
            let file = Path::new(name).file_name().unwrap_or_default();
            !self.state.patches().join(file).exists()
        };
        let name = names.find(free).unwrap_or_default();
        self.state.write(&name, patch)
    }

    fn move_repositories(&self, out: &[Change], run: RunId) -> Result<(), Fault> {
        for change in out.iter().filter(|change| change.kind == ChangeKind::Repository) {
            let to = self.state.kept().join(run.to_string()).join(&change.path);
            let from = self.directory.join(&change.path);
            let folder = to.parent().unwrap_or(&to);
            let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(&from, &to));
            moved.map_err(|error| failed(&from, &error))?;
        }
        Ok(())
    }
}

//! The change of a task: the difference between its base and the files in the worktree, and
//! reverting exactly the part of it that is outside the scope.
//!
//! The difference is one `git status` with a separate index that holds the base, and only its
//! report about the working tree counts. So it does not matter who made a change, whether it was
//! committed or staged, or what the agent told its own index to overlook. Files that git ignores
//! are no part of a change, and neither are by-products of setup, checks and tools (`footprint.rs`,
//! `ecosystem.rs`): they are never committed either.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::state::{build_start_ref, io_fault};
use super::workspace::Workspace;
use crate::git::raw::TreeDifference;
use crate::git::status::{ChangedEntry, StatusEntry};
use crate::git::{DifferenceKind, GitAction, GitFileMode, Oid};

/// The kind of change to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The path is new.
    Added,
    /// The content changed.
    Modified,
    /// The executable bit changed, with or without the content.
    ModeChanged,
    /// The path became another kind of object, such as a link in place of a file.
    TypeChanged,
    /// The path no longer exists.
    Deleted,
    /// A nested repository, which git does not look into.
    Repository,
}

/// A path that a task changed. A rename is a deleted path and a new one, because the scope has to
/// judge both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeChange {
    /// The path, relative to the worktree.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// The content of a worktree at one time, so that exactly the inspected content is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeContent {
    /// The commit that the change is counted from.
    pub(super) base: Oid,
    /// The whole content as a tree.
    pub(super) tree: Oid,
}

impl Workspace {
    /// Returns the work: every path that differs from the base, regardless of who changed it,
    /// without by-products of setup, checks and tools.
    pub async fn list_changes(&self) -> Result<Vec<WorktreeChange>, Fault> {
        let entries = self.git_with_base_index().status().await?;
        let new = entries.iter().filter_map(|entry| match entry {
            StatusEntry::Untracked { path, .. } => Some(path.as_path()),
            _ => None,
        });
        let tools = self.find_by_products(new).await?;
        let footprint = self.read_footprint()?;
        let named = self.read_named_paths()?;
        let is_work = |entry: &StatusEntry| match entry {
            StatusEntry::Untracked { path, .. } => {
                let ours = footprint.has_made(path)
                    && !(named.contains(path.as_os_str().as_bytes())
                        && footprint.has_changed(&self.directory, path));
                !ours && !tools.contains(path)
            }
            StatusEntry::Changed(changed) => {
                !footprint.is_unchanged(&self.directory, &changed.path)
            }
            StatusEntry::Unmerged { .. } | StatusEntry::Ignored { .. } => true,
        };
        let work = entries.into_iter().filter(is_work);
        Ok(work.filter_map(|entry| self.classify_entry(entry)).collect())
    }

    fn classify_entry(&self, entry: StatusEntry) -> Option<WorktreeChange> {
        match entry {
            // Changes within a submodule are no part of a commit.
            StatusEntry::Changed(changed)
                if changed.submodule.is_some_and(|inside| !inside.commit) =>
            {
                None
            }
            StatusEntry::Changed(changed) if changed.unstaged.is_some() => {
                let kind = classify_change(&changed);
                Some(WorktreeChange { path: changed.path, kind })
            }
            // The staged state compares with the agent's last commit and has no meaning here.
            StatusEntry::Changed(_) | StatusEntry::Ignored { .. } => None,
            // An index that was read from one tree has no conflicts.
            StatusEntry::Unmerged { path } => {
                Some(WorktreeChange { path, kind: ChangeKind::Modified })
            }
            StatusEntry::Untracked { path, .. }
                if self.shared.iter().any(|shared| path.starts_with(shared)) =>
            {
                None
            }
            StatusEntry::Untracked { path, repository } => {
                let kind = if repository { ChangeKind::Repository } else { ChangeKind::Added };
                Some(WorktreeChange { path, kind })
            }
        }
    }

    /// Writes the whole worktree as a tree, without ignored files and nested repositories.
    pub(super) async fn write_tree(&self, changes: &[WorktreeChange]) -> Result<Oid, Fault> {
        let scratch = self.git_with_scratch_index()?;
        let of = |kinds: fn(ChangeKind) -> bool| {
            let changes = changes.iter().filter(move |change| kinds(change.kind));
            changes.map(|change| change.path.as_path())
        };
        let there = |kind| !matches!(kind, ChangeKind::Deleted | ChangeKind::Repository);
        // Deletions come first: a folder that became a link is in the way of its former files.
        scratch.unstage_paths(of(|kind| kind == ChangeKind::Deleted)).await?;
        scratch.stage_paths(of(there)).await?;
        scratch.write_tree().await
    }

    /// Returns the current content of the worktree, after finishing a move that was interrupted.
    pub async fn capture_content(&self) -> Result<WorktreeContent, Fault> {
        self.finish_move().await?;
        let base = self.resolve_base().await?;
        Ok(WorktreeContent { base, tree: self.write_tree(&self.list_changes().await?).await? })
    }

    /// Returns every path that differs from the base, with its old and new state.
    pub async fn list_differences(&self) -> Result<Vec<TreeDifference>, Fault> {
        let WorktreeContent { base, tree } = self.capture_content().await?;
        self.git.diff_trees(&base, &tree).await
    }

    /// Returns the paths that the build changed, from its start up to the content of this worktree.
    pub async fn list_paths_changed_by_build(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let (start, tree) = self.resolve_build_trees().await?;
        let differences = self.git.diff_trees(&start, &tree).await?;
        Ok(differences.into_iter().map(|difference| difference.path).collect())
    }

    /// Returns the changes that the build made to these paths, as a patch.
    pub async fn create_build_patch(&self, paths: &[PathBuf]) -> Result<Vec<u8>, Fault> {
        let (start, tree) = self.resolve_build_trees().await?;
        self.git.create_patch_for(&start, &tree, paths).await
    }

    /// Returns the tree that the build started from, and the current one.
    async fn resolve_build_trees(&self) -> Result<(Oid, Oid), Fault> {
        let start = self.git.resolve_commit(&build_start_ref(self.place.build)).await?;
        let WorktreeContent { base, tree } = self.capture_content().await?;
        Ok((self.resolve_tree(&start.unwrap_or(base)).await?, tree))
    }

    /// Returns the change as one patch, in the form that the core reads.
    pub async fn create_patch(&self) -> Result<Vec<u8>, Fault> {
        self.create_patch_of(&self.capture_content().await?).await
    }

    /// Returns the patch of a content that was read earlier.
    pub async fn create_patch_of(&self, content: &WorktreeContent) -> Result<Vec<u8>, Fault> {
        self.git.create_patch(&self.resolve_tree(&content.base).await?, &content.tree).await
    }
}

const fn classify_change(changed: &ChangedEntry) -> ChangeKind {
    match (changed.unstaged, changed.index, changed.worktree) {
        (Some(DifferenceKind::Deleted), ..) => ChangeKind::Deleted,
        (Some(DifferenceKind::Added), ..) => ChangeKind::Added,
        (Some(DifferenceKind::TypeChanged), ..) => ChangeKind::TypeChanged,
        (_, GitFileMode::File, GitFileMode::Executable)
        | (_, GitFileMode::Executable, GitFileMode::File) => ChangeKind::ModeChanged,
        _ => ChangeKind::Modified,
    }
}

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
        let out = changes.iter().filter(|change| wanted.contains(change.path.as_path()));
        let out: Vec<WorktreeChange> = out.cloned().collect();
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
                Err(GitAction::Revert.to_fault(message, None, None))
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
        let name = names.find(|name| !self.state.folder().join(name).exists());
        let name = name.unwrap_or_default();
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

//! The change of a task: the difference between its base and the files in the worktree.
//!
//! The difference is one `git status` with a separate index that holds the base, and only its
//! report about the working tree counts. So it does not matter who made a change, whether it was
//! committed or staged, or what the agent told its own index to overlook. Files that git ignores
//! are no part of a change, and neither are by-products of setup, checks and tools (`footprint.rs`,
//! `by_product.rs`): they are never committed either.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::fault::Fault;

use super::names::build_start_ref;
use super::workspace::Workspace;
use crate::git::raw::TreeDifference;
use crate::git::status::{ChangedEntry, PathState, StatusEntry};
use crate::git::{GitFileMode, Oid};

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
            StatusEntry::Changed(changed) if changed.unstaged != PathState::Same => {
                let kind = classify_change(&changed);
                Some(WorktreeChange { path: changed.path, kind })
            }
            // The staged state compares with the agent's last commit and has no meaning here.
            StatusEntry::Changed(_) | StatusEntry::Ignored { .. } => None,
            // An index that was read from one tree has no conflicts.
            StatusEntry::Unmerged { path } => {
                Some(WorktreeChange { path, kind: ChangeKind::Modified })
            }
            StatusEntry::Untracked { path, .. } if self.is_shared(&path) => None,
            StatusEntry::Untracked { path, repository } => {
                let kind = if repository { ChangeKind::Repository } else { ChangeKind::Added };
                Some(WorktreeChange { path, kind })
            }
        }
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.shared.iter().any(|shared| path.starts_with(shared))
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
        (PathState::Deleted, ..) => ChangeKind::Deleted,
        (PathState::Added, ..) => ChangeKind::Added,
        (PathState::TypeChanged, ..) => ChangeKind::TypeChanged,
        (_, GitFileMode::File, GitFileMode::Executable)
        | (_, GitFileMode::Executable, GitFileMode::File) => ChangeKind::ModeChanged,
        _ => ChangeKind::Modified,
    }
}

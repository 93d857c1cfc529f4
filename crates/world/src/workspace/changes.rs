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

use super::names::build_start;
use super::workspace::Workspace;
use crate::git::raw::Difference;
use crate::git::status::{Changed, Entry, State};
use crate::git::{Mode, Oid};

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
pub struct Change {
    /// The path, relative to the worktree.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// The content of a worktree at one time, so that exactly the inspected content is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The commit that the change is counted from.
    pub(super) base: Oid,
    /// The whole content as a tree.
    pub(super) tree: Oid,
}

impl Workspace {
    /// Returns the work: every path that differs from the base, regardless of who changed it,
    /// without by-products of setup, checks and tools.
    pub async fn changes(&self) -> Result<Vec<Change>, Fault> {
        let entries = self.ours().status().await?;
        let new = entries.iter().filter_map(|entry| match entry {
            Entry::Untracked { path, .. } => Some(path.as_path()),
            _ => None,
        });
        let tools = self.by_products(new).await?;
        let footprint = self.footprint()?;
        let named = self.named()?;
        let is_work = |entry: &Entry| match entry {
            Entry::Untracked { path, .. } => {
                let ours = footprint.made(path)
                    && !(named.contains(path.as_os_str().as_bytes())
                        && footprint.differs(&self.directory, path));
                !ours && !tools.contains(path)
            }
            Entry::Changed(changed) => !footprint.holds(&self.directory, &changed.path),
            Entry::Unmerged { .. } | Entry::Ignored { .. } => true,
        };
        let work = entries.into_iter().filter(is_work);
        Ok(work.filter_map(|entry| self.change(entry)).collect())
    }

    fn change(&self, entry: Entry) -> Option<Change> {
        match entry {
            // Changes within a submodule are no part of a commit.
            Entry::Changed(changed) if changed.submodule.is_some_and(|inside| !inside.commit) => {
                None
            }
            Entry::Changed(changed) if changed.unstaged != State::Same => {
                let kind = kind(&changed);
                Some(Change { path: changed.path, kind })
            }
            // The staged state compares with the agent's last commit and has no meaning here.
            Entry::Changed(_) | Entry::Ignored { .. } => None,
            // An index that was read from one tree has no conflicts.
            Entry::Unmerged { path } => Some(Change { path, kind: ChangeKind::Modified }),
            Entry::Untracked { path, .. } if self.is_shared(&path) => None,
            Entry::Untracked { path, repository } => {
                let kind = if repository { ChangeKind::Repository } else { ChangeKind::Added };
                Some(Change { path, kind })
            }
        }
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.shared.iter().any(|shared| path.starts_with(shared))
    }

    /// Writes the whole worktree as a tree, without ignored files and nested repositories.
    pub(super) async fn tree(&self, changes: &[Change]) -> Result<Oid, Fault> {
        let scratch = self.scratch()?;
        let of = |kinds: fn(ChangeKind) -> bool| {
            let changes = changes.iter().filter(move |change| kinds(change.kind));
            changes.map(|change| change.path.as_path())
        };
        let there = |kind| !matches!(kind, ChangeKind::Deleted | ChangeKind::Repository);
        // Deletions come first: a folder that became a link is in the way of its former files.
        scratch.take_out(of(|kind| kind == ChangeKind::Deleted)).await?;
        scratch.take_in(of(there)).await?;
        scratch.write_tree().await
    }

    /// Returns the current content of the worktree, after finishing a move that was interrupted.
    pub async fn content(&self) -> Result<Content, Fault> {
        self.finish_move().await?;
        let base = self.base().await?;
        Ok(Content { base, tree: self.tree(&self.changes().await?).await? })
    }

    /// Returns every path that differs from the base, with its old and new state.
    pub async fn differences(&self) -> Result<Vec<Difference>, Fault> {
        let Content { base, tree } = self.content().await?;
        self.git.differences(&base, &tree).await
    }

    /// Returns the paths that the build changed, from its start up to the content of this worktree.
    pub async fn changed_by_build(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let (start, tree) = self.since_start().await?;
        let differences = self.git.differences(&start, &tree).await?;
        Ok(differences.into_iter().map(|difference| difference.path).collect())
    }

    /// Returns the changes that the build made to these paths, as a patch.
    pub async fn patch_by_build(&self, paths: &[PathBuf]) -> Result<Vec<u8>, Fault> {
        let (start, tree) = self.since_start().await?;
        self.git.patch_of(&start, &tree, paths).await
    }

    /// Returns the tree that the build started from, and the current one.
    async fn since_start(&self) -> Result<(Oid, Oid), Fault> {
        let start = self.git.commit_of(&build_start(self.place.build)).await?;
        let Content { base, tree } = self.content().await?;
        Ok((self.tree_of(&start.unwrap_or(base)).await?, tree))
    }

    /// Returns the change as one patch, in the form that the core reads.
    pub async fn patch(&self) -> Result<Vec<u8>, Fault> {
        self.patch_of(&self.content().await?).await
    }

    /// Returns the patch of a content that was read earlier.
    pub async fn patch_of(&self, content: &Content) -> Result<Vec<u8>, Fault> {
        self.git.patch(&self.tree_of(&content.base).await?, &content.tree).await
    }
}

const fn kind(changed: &Changed) -> ChangeKind {
    match (changed.unstaged, changed.index, changed.worktree) {
        (State::Deleted, ..) => ChangeKind::Deleted,
        (State::Added, ..) => ChangeKind::Added,
        (State::TypeChanged, ..) => ChangeKind::TypeChanged,
        (_, Mode::File, Mode::Executable) | (_, Mode::Executable, Mode::File) => {
            ChangeKind::ModeChanged
        }
        _ => ChangeKind::Modified,
    }
}

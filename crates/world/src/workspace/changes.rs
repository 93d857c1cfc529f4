//! What a task changed: the difference between its base and the files that are there.
//!
//! It is one `git status` with an index of our own that holds the base, and only what that says
//! about the working tree counts. So it does not matter who made a change, whether it was committed
//! or staged, or what the agent told its own index to overlook. Files that git ignores are no part
//! of a change, and neither is what setup, checks and tools leave beside the work (`footprint.rs`,
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

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content changed.
    Modified,
    /// It can be executed now, or no longer, whatever else changed.
    ModeChanged,
    /// It became another kind of thing: a link, a file.
    TypeChanged,
    /// It is gone.
    Deleted,
    /// A repository of its own, which git does not look into.
    Repository,
}

/// One path that a task changed. A rename is a path that is gone and one that is new, because the
/// fence has to judge both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Which one, within the worktree.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What a worktree held at one time, so that what is looked through is what is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The commit that the change is counted from.
    pub(super) base: Oid,
    /// All of it as a tree.
    pub(super) tree: Oid,
}

impl Workspace {
    /// The work: everything that differs from the base, whoever changed it, without what setup,
    /// checks and tools left beside it.
    pub async fn changes(&self) -> Result<Vec<Change>, Fault> {
        let entries = self.ours().status().await?;
        let new = entries.iter().filter_map(|entry| match entry {
            Entry::Untracked { path, .. } => Some(path.as_path()),
            _ => None,
        });
        let tools = self.by_products(new).await?;
        let (footprint, named) = (self.footprint()?, self.named()?);
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
            // What is changed within a submodule is no part of a commit.
            Entry::Changed(changed) if changed.submodule.is_some_and(|inside| !inside.commit) => {
                None
            }
            Entry::Changed(changed) if changed.unstaged != State::Same => {
                let kind = kind(&changed);
                Some(Change { path: changed.path, kind })
            }
            // What the index says about the last commit of the agent means nothing.
            Entry::Changed(_) | Entry::Ignored { .. } => None,
            // There are no conflicts in an index that was read from one tree.
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

    /// The whole worktree as a tree, without what git ignores and repositories of their own.
    pub(super) async fn tree(&self, changes: &[Change]) -> Result<Oid, Fault> {
        let scratch = self.scratch()?;
        let of = |kinds: fn(ChangeKind) -> bool| {
            let changes = changes.iter().filter(move |change| kinds(change.kind));
            changes.map(|change| change.path.as_path())
        };
        let there = |kind| !matches!(kind, ChangeKind::Deleted | ChangeKind::Repository);
        // A folder that became a link is in the way of what it held.
        scratch.take_out(of(|kind| kind == ChangeKind::Deleted)).await?;
        scratch.take_in(of(there)).await?;
        scratch.write_tree().await
    }

    /// What the worktree holds now.
    pub async fn content(&self) -> Result<Content, Fault> {
        self.finish_move().await?;
        let base = self.base().await?;
        Ok(Content { base, tree: self.tree(&self.changes().await?).await? })
    }

    /// Every path that differs from the base, with what was there and what is.
    pub async fn differences(&self) -> Result<Vec<Difference>, Fault> {
        let Content { base, tree } = self.content().await?;
        self.git.differences(&base, &tree).await
    }

    /// The paths that the work of the build changed, up to what this worktree holds.
    pub async fn changed_by_build(&self) -> Result<BTreeSet<PathBuf>, Fault> {
        let (start, tree) = self.since_start().await?;
        let differences = self.git.differences(&start, &tree).await?;
        Ok(differences.into_iter().map(|difference| difference.path).collect())
    }

    /// What the work of the build did to these paths, as a patch.
    pub async fn patch_by_build(&self, paths: &[PathBuf]) -> Result<Vec<u8>, Fault> {
        let (start, tree) = self.since_start().await?;
        self.git.patch_of(&start, &tree, paths).await
    }

    /// The tree that the build started from, and the one that is there.
    async fn since_start(&self) -> Result<(Oid, Oid), Fault> {
        let start = self.git.commit_of(&build_start(self.place.build)).await?;
        let Content { base, tree } = self.content().await?;
        Ok((self.tree_of(&start.unwrap_or(base)).await?, tree))
    }

    /// The change as one text, as the core reads it.
    pub async fn patch(&self) -> Result<Vec<u8>, Fault> {
        self.patch_of(&self.content().await?).await
    }

    /// The same, of what it held then.
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

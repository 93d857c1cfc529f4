//! Removes a worktree, unless it holds work that is saved nowhere else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, io};

use unstuck_core::engine::RunId;
use unstuck_core::fault::Fault;

use super::names::{attempt_ref, build_branch_ref};
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::{Oid, RefChange};

/// The outcome of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// The worktree is removed.
    Gone,
    /// The worktree stays, for this reason.
    Kept(WorktreeKeepReason),
}

/// The reason why a worktree stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeKeepReason {
    /// The worktree is the operator's own checkout.
    InPlace,
    /// The worktree is quarantined for the operator, with the reason.
    Quarantined(String),
    /// Number of changes that are saved nowhere else.
    Unsaved(usize),
}

impl Workspace {
    /// Removes the worktree, and its branch and base if the build's branch contains its commit.
    /// `run` is the run that worked in it last.
    pub async fn remove_worktree(&self, run: RunId) -> Result<RemovalOutcome, Fault> {
        let head = self.project.git.resolve_commit(&build_branch_ref(self.place.build)).await?;
        self.remove_with_head(run, head.as_ref()).await
    }

    /// Removes the worktree of work that belongs to no build: its branch and base are removed if
    /// `head` contains its commit.
    pub async fn remove_without_build(
        &self,
        run: RunId,
        head: &Oid,
    ) -> Result<RemovalOutcome, Fault> {
        self.remove_with_head(run, Some(head)).await
    }

    async fn remove_with_head(
        &self,
        run: RunId,
        head: Option<&Oid>,
    ) -> Result<RemovalOutcome, Fault> {
        if let Some(why) = self.find_keep_reason(run).await? {
            return Ok(RemovalOutcome::Kept(why));
        }
        self.state.delete_file("index")?;
        for folder in [&self.directory, &self.git_dir, &self.state.private_folder()] {
            remove_folder(folder).map_err(|error| io_fault(folder, &error))?;
        }
        self.delete_refs(head).await?;
        Ok(RemovalOutcome::Gone)
    }

    /// Returns the reason why the worktree has to stay, or `None` if all of its work is saved
    /// elsewhere.
    pub async fn find_keep_reason(&self, run: RunId) -> Result<Option<WorktreeKeepReason>, Fault> {
        if self.in_place {
            return Ok(Some(WorktreeKeepReason::InPlace));
        }
        if let Some(why) = self.quarantine_reason()? {
            return Ok(Some(WorktreeKeepReason::Quarantined(why)));
        }
        let changes = self.list_changes().await?;
        let saved = changes.is_empty() || self.is_saved(&changes, run).await?;
        Ok((!saved).then_some(WorktreeKeepReason::Unsaved(changes.len())))
    }

    async fn is_saved(&self, changes: &[super::WorktreeChange], run: RunId) -> Result<bool, Fault> {
        if changes.iter().any(|change| change.kind == super::ChangeKind::Repository) {
            return Ok(false);
        }
        let tree = self.write_tree(changes).await?;
        for name in [self.branch.clone(), attempt_ref(run)] {
            if self.git.resolve_tree(&name).await?.as_ref() == Some(&tree) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn delete_refs(&self, head: Option<&Oid>) -> Result<(), Fault> {
        let git = &self.project.git;
        let own = git.resolve_commit(&self.branch).await?;
        let landed = match (head, &own) {
            (Some(head), Some(own)) => git.is_ancestor(own, head).await?,
            _ => false,
        };
        let mut changes = Vec::new();
        if landed {
            changes.push(RefChange { name: self.branch.clone(), old: own, new: None });
        }
        let name = self.place.base_ref();
        if let Some(base) = git.resolve_commit(&name).await?.filter(|_| landed) {
            changes.push(RefChange { name, old: Some(base), new: None });
        }
        git.swap_refs(&changes, "unstuck: put a worktree away").await.map(drop)
    }
}

/// Removes a folder that programs have written to, if it exists. Makes folders in it writable first
/// if necessary: package caches contain folders that their owner may not write to.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_folders_writable(folder)?;
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a folder and all folders below it writable for their owner. Does not follow links.
fn make_folders_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_folders_writable(&entry.path())?;
        }
    }
    Ok(())
}

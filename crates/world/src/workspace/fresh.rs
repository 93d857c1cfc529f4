//! A fresh checkout of a change, in which no agent has worked: a check that passes there passes
//! elsewhere.
//!
//! The worktree of a task holds more than its commit: installed packages, output of earlier checks,
//! and a home folder that the agent has used. A check that passes because of those proves nothing.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use unstuck_core::engine::TaskId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::{ChangeKind, WorktreeChange, WorktreeContent};
use super::ecosystem::is_manifest;
use super::elsewhere::IGNORED_NOTE;
use super::finish::remove_folder;
use super::project::ProjectRepository;
use super::state::{WorkspaceKey, io_fault};
use super::workspace::Workspace;
use crate::git::{Oid, RefChange};

/// Offset of the task ids of fresh checkouts: no plan is that long.
const FRESH: u32 = 1_000_000_000;
const PACKAGES: [&str; 6] =
    ["node_modules", "node_modules/.bin", ".venv", "venv", "vendor", "vendor/bundle"];
/// Folders of programs that packages install.
const PROGRAMS: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Folders of the home folder that are only caches.
const CACHES: [&str; 7] = [".cache", ".npm", ".cargo", ".rustup", "go", ".gradle", ".m2"];
/// Maximum number of entries of a home folder that are inspected.
const LOOKED_AT_MAX: usize = 2_000;

impl WorkspaceKey {
    /// Returns the place of a checkout in which the change of this task is checked once more.
    #[must_use]
    pub const fn for_fresh_checkout(self) -> Self {
        Self { task: TaskId(FRESH + self.task.0), ..self }
    }
}

impl ProjectRepository {
    /// Removes a checkout that only checks ran in, with its state and its refs.
    pub async fn discard_checkout(&self, place: WorkspaceKey) -> Result<(), Fault> {
        for folder in [self.worktree_folder(place), self.task_state(place).folder().to_owned()] {
            remove_folder(&folder).map_err(|error| io_fault(&folder, &error))?;
        }
        let mut changes = Vec::new();
        for name in [place.branch_ref(), place.base_ref(), place.pending_ref()] {
            if let Some(old) = self.git.resolve_commit(&name).await? {
                changes.push(RefChange { name, old: Some(old), new: None });
            }
        }
        self.git.swap_refs(&changes, "unstuck: put a checkout away").await.map(drop)
    }
}

impl Workspace {
    /// Commits the content of the worktree, without a ref that points to the commit.
    pub async fn commit_current_content(&self, now: Time) -> Result<Oid, Fault> {
        let WorktreeContent { base, tree } = self.capture_content().await?;
        self.commit_snapshot(&tree, &[base], "What is checked\n", now).await
    }

    /// Returns whether a check may pass because of files in the worktree that are not in its
    /// commit: packages were installed or changed, or files are deleted that earlier builds were
    /// made of.
    pub async fn may_pass_by_leftovers(&self) -> Result<bool, Fault> {
        if self.in_place {
            return Ok(false);
        }
        let changes = self.list_changes().await?;
        // Both can invalidate earlier build output or installed packages.
        let touches_builds = |change: &WorktreeChange| {
            change.kind == ChangeKind::Deleted || is_manifest(&change.path)
        };
        Ok(changes.iter().any(touches_builds) || self.has_installed())
    }

    /// Returns whether packages or files of the home folder are newer than the note from before the
    /// work.
    fn has_installed(&self) -> bool {
        let note = self.state.folder().join(IGNORED_NOTE);
        let Ok(since) = fs::metadata(&note).and_then(|note| note.modified()) else {
            return false;
        };
        let is_newer = |path: &Path| {
            let modified = fs::symlink_metadata(path).and_then(|there| there.modified());
            modified.is_ok_and(|modified: SystemTime| modified > since)
        };
        let folder = self.project_folder();
        let packages = PACKAGES.iter().map(|name| folder.join(name));
        let packages: Vec<_> = packages.filter(|path| !path.is_symlink()).collect();
        let programs = PROGRAMS.iter().filter_map(|name| fs::read_dir(folder.join(name)).ok());
        let programs = programs.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
        if packages.into_iter().chain(programs).any(|path| is_newer(&path)) {
            return true;
        }
        let mut open = vec![self.state.private_folder().join("home")];
        let mut looked_at = 0;
        while let Some(folder) = open.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                looked_at += 1;
                let name = entry.file_name();
                if looked_at > LOOKED_AT_MAX || CACHES.iter().any(|known| name == *known) {
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(entry.path()),
                    _ if is_newer(&entry.path()) => return true,
                    _ => {}
                }
            }
        }
        false
    }
}

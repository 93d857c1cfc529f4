//! The end of a task: its change is rebased onto the build's head, its commit becomes the head of
//! the build's branch, and its worktree is removed unless it holds work that is saved nowhere else.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::{Fault, GitOperation};
use unstuck_core::time::Time;

use super::changes::{ChangeKind, WorktreeChange};
use super::project::missing_fault;
use super::state::{attempt_ref, build_branch_ref, build_tip_ref, io_fault};
use super::workspace::Workspace;
use crate::git::{Oid, RefChange, RefSwapOutcome};
use crate::regular_file::read_regular;

/// Maximum size of a file that is searched for conflict markers, in bytes: a longer one is no text
/// that people merge.
const MARKED_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// The outcome of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrationOutcome {
    /// The change was based on that head already.
    Already,
    /// The worktree holds the head with the change on it; earlier check results no longer count.
    Onto,
}

impl Workspace {
    /// Rebases the change onto `head`. If both touch the same lines, the result is `GIT_CONFLICT`:
    /// the files then hold both versions between markers, with `head` as the base, so that the next
    /// attempt can resolve them or start from there; the original attempt is saved.
    pub async fn integrate_onto(
        &self,
        head: &Oid,
        run: RunId,
        now: Time,
    ) -> Result<IntegrationOutcome, Fault> {
        self.finish_move().await?;
        let base = self.resolve_base().await?;
        let changes = self.list_changes().await?;
        self.require_no_conflict_marks(&changes)?;
        if base == *head {
            return Ok(IntegrationOutcome::Already);
        }
        let tree = self.write_tree(&changes).await?;
        self.save_attempt(run, now).await?;
        let parents = [base.clone()];
        let change = self.commit_snapshot(&tree, &parents, "The change\n", now).await?;
        let merged = self.git.merge_changes(&base, head, &change).await?;
        self.relocate_to(&merged.tree, head, &change, now).await?;
        if merged.conflicts.is_empty() {
            return Ok(IntegrationOutcome::Onto);
        }
        Err(conflict_fault(&merged.conflicts, Some(head)))
    }

    /// Returns `GIT_CONFLICT` if changed files contain conflict markers of an earlier integration.
    /// These carry the full hash of a commit, so no other text is taken for one.
    fn require_no_conflict_marks(&self, changes: &[WorktreeChange]) -> Result<(), Fault> {
        let marked = |change: &&WorktreeChange| {
            let path = self.directory.join(&change.path);
            let text = read_regular(&path, MARKED_BYTES_MAX).unwrap_or_default();
            text.split(|byte| *byte == b'\n').any(is_conflict_mark)
        };
        let marked: Vec<PathBuf> =
            changes.iter().filter(marked).map(|change| change.path.clone()).collect();
        if marked.is_empty() { Ok(()) } else { Err(conflict_fault(&marked, None)) }
    }
}

fn is_conflict_mark(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"<<<<<<< ").or_else(|| line.strip_prefix(b">>>>>>> "));
    name.is_some_and(|name| Oid::parse(name.trim_ascii_end()).is_some())
}

fn conflict_fault(files: &[PathBuf], head: Option<&Oid>) -> Fault {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let context = GitOperation {
        operation: "merge".to_owned(),
        reference: head.map(ToString::to_string),
        ..GitOperation::default()
    };
    let message = format!("conflict in {}", names.join(", "));
    Fault::git_conflict("git.merge", message, context)
}

/// The outcome of landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingOutcome {
    /// The build's branch contains the commit, now or since an earlier call.
    Done,
    /// The build's branch moved on; the change has to be integrated with its new head first.
    HeadMoved {
        /// The new head.
        to: Oid,
    },
    /// A worktree has the build's branch checked out; moving the branch would change what its user
    /// sees.
    InUse {
        /// The path of that worktree.
        by: PathBuf,
    },
}

impl Workspace {
    /// Fast-forwards the build's branch to `commit`, if `commit` is a descendant of its head.
    pub async fn fast_forward_build(&self, commit: &Oid) -> Result<LandingOutcome, Fault> {
        let name = build_branch_ref(self.place.build);
        let head =
            self.project.ensure_build_head(self.place.build, &self.resolve_base().await?).await?;
        // Usually the head is the parent, which needs no search through the history.
        if self.git.resolve_parent(commit).await?.as_ref() != Some(&head) {
            if self.git.is_ancestor(commit, &head).await? {
                return Ok(LandingOutcome::Done);
            }
            if !self.git.is_ancestor(&head, commit).await? {
                return Ok(LandingOutcome::HeadMoved { to: head });
            }
        }
        let worktrees = self.project.git.list_worktrees().await?;
        let user = worktrees.into_iter().find(|tree| tree.branch.as_deref() == Some(&name));
        if let Some(tree) = user {
            return Ok(LandingOutcome::InUse { by: tree.path });
        }
        let tip = build_tip_ref(self.place.build);
        let stood = self.git.resolve_commit(&tip).await?;
        let changes = [
            RefChange { name, old: Some(head), new: Some(commit.clone()) },
            RefChange { name: tip, old: stood, new: Some(commit.clone()) },
        ];
        match self.git.swap_refs(&changes, "unstuck: land a task").await? {
            RefSwapOutcome::Done => Ok(LandingOutcome::Done),
            RefSwapOutcome::Moved { at: Some(to), .. } => Ok(LandingOutcome::HeadMoved { to }),
            RefSwapOutcome::Moved { name, at: None } => {
                Err(missing_fault(format!("{name} is gone"), "the build's branch"))
            }
        }
    }
}

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

    async fn is_saved(&self, changes: &[WorktreeChange], run: RunId) -> Result<bool, Fault> {
        if changes.iter().any(|change| change.kind == ChangeKind::Repository) {
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

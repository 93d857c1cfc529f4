//! Work in a place that no commit covers: another branch, the stash, a submodule, or a file that
//! git ignores.
//!
//! No check may depend on ignored files that an agent made. They are moved out of the worktree
//! before it is checked, and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::{Fault, MISPLACED_WORK, Validation};

use super::changes::{ChangeKind, WorktreeChange};
use super::ecosystem::classify_by_product;
use super::private::PrivateRepository;
use super::state::io_fault;
use super::workspace::Workspace;
use crate::git::{GitAction, Oid, RestoreReport, join_paths, kept_ref_name, split_paths};
use crate::regular_file::allow_missing;

/// The name of the failed check, as the operator and the agent read it.
const CHECK: &str = "the work is in files that git commits";
/// The greatest file of a commit, in bytes: hosts of repositories refuse larger ones.
const COMMITTED_BYTES_MAX: u64 = 100 * 1_024 * 1_024;
/// The size of the greatest file of a commit, in words.
pub const COMMITTED_SIZE: &str = "100 MB";
/// The ref under which git keeps the stash.
const STASH: &str = "refs/stash";

/// The files that were moved out of a worktree, because no commit will have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetAsideFiles {
    /// Those that git ignores, or that the agent has made it forget.
    pub ignored: Vec<PathBuf>,
    /// Those that are too large.
    pub large: Vec<PathBuf>,
}

impl Workspace {
    /// Finds commits that the agent left on another branch, or in the stash, with the worktree
    /// unchanged. Such an attempt is not one without a change: the agent is told where its work is.
    pub async fn find_work_elsewhere(
        &self,
        restored: &RestoreReport,
    ) -> Result<Option<Fault>, Fault> {
        if let Some(fault) = self.find_work_in_submodules().await? {
            return Ok(Some(fault));
        }
        let changes = self.list_changes().await?;
        if let Some(fault) = self.find_link_into_worktree(&changes) {
            return Ok(Some(fault));
        }
        let left = self.list_agent_refs(restored).await?;
        if left.is_empty() || !changes.is_empty() {
            return Ok(None);
        }
        let base = self.resolve_base().await?;
        let known = self.resolve_tree(&base).await?;
        for (name, commit) in &left {
            if !self.import_object(commit, &base).await
                || self.git.resolve_commit(commit.as_str()).await?.is_none()
                || self.git.is_ancestor(commit, &base).await?
            {
                continue;
            }
            if self.git.resolve_tree(commit.as_str()).await?.is_some_and(|tree| tree != known) {
                self.point_ref(&kept_ref_name(commit), commit).await?;
                return Ok(Some(other_branch_fault(name, commit)));
            }
        }
        Ok(None)
    }

    /// Returns the fault of a link of the agent that leads, by an absolute path, into the worktree:
    /// it leads nowhere as soon as the worktree is gone.
    fn find_link_into_worktree(&self, changes: &[WorktreeChange]) -> Option<Fault> {
        let leads_in = |change: &&WorktreeChange| {
            let target = fs::read_link(self.directory.join(&change.path));
            change.kind != ChangeKind::Deleted
                && target.is_ok_and(|target| target.starts_with(&self.directory))
        };
        let link = changes.iter().find(leads_in)?.path.display().to_string();
        let message = format!("your work is behind {link}, a link with an absolute path");
        let output = format!(
            "{link} is a link with an absolute path into this worktree, which is removed when the \
             work is done: the link would lead nowhere. Make it relative, or use a file."
        );
        Some(misplaced_work_fault(message, output))
    }

    /// Returns the agent's branches and stash, except the branch that it was given and those at a
    /// commit that a ref of the operator's repository names.
    async fn list_agent_refs(
        &self,
        restored: &RestoreReport,
    ) -> Result<BTreeMap<String, Oid>, Fault> {
        let is_work = |name: &str| name.starts_with("refs/heads/") || name == STASH;
        let Some(private) = &self.private else {
            let mut left = restored.stood_at.clone();
            left.retain(|name, _| is_work(name));
            return Ok(left);
        };
        let mut left = private.read_refs();
        left.retain(|name, _| is_work(name) && *name != self.branch);
        if !left.is_empty() {
            let persons = self.project.git.list_refs(&[]).await?;
            left.retain(|_, commit| !persons.values().any(|known| known == commit));
        }
        Ok(left)
    }
}

/// Returns the fault of such work: `message` is one line, `told` the text for the agent.
pub(super) fn misplaced_work_fault(message: String, told: String) -> Fault {
    let context = Validation { command: CHECK.to_owned(), exit: None, output: told };
    Fault::validation_pre_commit(MISPLACED_WORK, message, context)
}

/// Returns the fault of work that is on a branch or in the stash, and not in the worktree.
fn other_branch_fault(name: &str, commit: &Oid) -> Fault {
    let place = match name.strip_prefix("refs/heads/") {
        Some(branch) => format!("on the branch {branch}"),
        None => "in the stash".to_owned(),
    };
    let message = format!("your work is {place}, not in the worktree");
    let output = format!(
        "The worktree is as you found it: your work is {place}, and only what is in the worktree \
         counts.\nBring it back: git checkout {commit} -- .\nThen stay on the branch that you \
         were given."
    );
    misplaced_work_fault(message, output)
}

/// Name of the note that lists the ignored files from before the agent's work.
pub(super) const IGNORED_NOTE: &str = "ignored";
/// Name of the note that lists the ignored files that setup has made since, before a check.
const IGNORED_OF_SETUP: &str = "ignored-of-setup";
/// Name of the note that lists the ignored files from before the first check in a new worktree.
pub(super) const IGNORED_BEFORE_CHECKS: &str = "ignored-before-checks";
/// A copy of the agent's index while it is read.
const AGENTS_INDEX: &str = "index.seen";
/// Files that are named to the agent; the others are counted.
const NAMED_MAX: usize = 8;

impl Workspace {
    /// Records the ignored files that exist before an agent works. An attempt that continues in the
    /// same files keeps the older note.
    pub async fn note_ignored(&self, start: Start) -> Result<(), Fault> {
        let is_new = matches!(start, Start::Fresh | Start::NewWorktree);
        if self.in_place || !is_new && self.state.read_file(IGNORED_NOTE)?.is_some() {
            return Ok(());
        }
        self.state.delete_file(IGNORED_OF_SETUP)?;
        self.state.write_file(IGNORED_NOTE, &self.encode_ignored().await?).map(drop)
    }

    /// Records the ignored files that exist after setup ran again: those of the agent were moved
    /// out before.
    pub(super) async fn note_ignored_of_setup(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        self.state.write_file(IGNORED_OF_SETUP, &self.encode_ignored().await?).map(drop)
    }

    /// Records the ignored files that exist before the first check runs in a new worktree.
    pub async fn note_ignored_before_checks(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        self.state.write_file(IGNORED_BEFORE_CHECKS, &self.encode_ignored().await?).map(drop)
    }

    /// Returns the ignored files that only checks can have made: those of the agent were moved out
    /// before a check.
    pub(super) async fn list_ignored_of_checks(&self) -> Result<Vec<PathBuf>, Fault> {
        let before = match self.state.read_file(IGNORED_BEFORE_CHECKS)? {
            None => self.state.read_file(IGNORED_NOTE)?,
            found => found,
        };
        let Some(before) = before else { return Ok(Vec::new()) };
        let of_setup = self.state.read_file(IGNORED_OF_SETUP)?.unwrap_or_default();
        let known: BTreeSet<PathBuf> = split_paths(&before).chain(split_paths(&of_setup)).collect();
        let now = self.list_ignored().await?;
        Ok(now.into_iter().filter(|path| !known.contains(path)).collect())
    }

    async fn encode_ignored(&self) -> Result<Vec<u8>, Fault> {
        Ok(join_paths(self.list_ignored().await?.iter().map(PathBuf::as_path)))
    }

    /// Moves the files that no commit will have out of the worktree: the ignored ones that are new since
    /// the note, those that the agent has made git forget, and new ones that are too large.
    pub async fn set_aside_uncommitted(&self, run: RunId) -> Result<SetAsideFiles, Fault> {
        let Some(note) = self.state.read_file(IGNORED_NOTE)? else {
            return Ok(SetAsideFiles::default());
        };
        let of_setup = self.state.read_file(IGNORED_OF_SETUP)?.unwrap_or_default();
        let before: BTreeSet<PathBuf> = split_paths(&note).chain(split_paths(&of_setup)).collect();
        let now = self.list_ignored().await?;
        let mut new: Vec<PathBuf> = now.into_iter().filter(|path| !before.contains(path)).collect();
        new.extend(self.find_no_longer_tracked().await?);
        let large = self.find_large_files().await?;
        let keep = self.set_aside_folder(run);
        for path in new.iter().chain(&large) {
            let from = self.directory.join(path);
            let to = keep.join(path);
            move_file_aside(&from, &to).map_err(|error| io_fault(&from, &error))?;
        }
        Ok(SetAsideFiles { ignored: new, large })
    }

    /// Returns the new files that are too large for a commit, without those that a filter such as Git
    /// LFS keeps elsewhere.
    async fn find_large_files(&self) -> Result<Vec<PathBuf>, Fault> {
        let is_large = |path: &Path| {
            let found = self.directory.join(path).symlink_metadata();
            found.is_ok_and(|found| found.is_file() && found.len() > COMMITTED_BYTES_MAX)
        };
        let changes = self.list_changes().await?;
        let added = changes.into_iter().filter(|change| change.kind == ChangeKind::Added);
        let large: Vec<PathBuf> =
            added.map(|change| change.path).filter(|path| is_large(path)).collect();
        if large.is_empty() {
            return Ok(large);
        }
        let git = self.git_with_base_index();
        let asked = git.call(GitAction::Status).args(["check-attr", "-z", "filter", "--"]);
        let listed = asked.args(&large).run().await?;
        // Each path is followed by the name of the attribute and its value.
        let words: Vec<&[u8]> = listed.stdout.split(|byte| *byte == 0).collect();
        let is_plain = |value: &[u8]| matches!(value, b"unspecified" | b"unset");
        let filters: Vec<bool> = words.chunks_exact(3).map(|word| !is_plain(word[2])).collect();
        let has_filter = filters.into_iter().chain(std::iter::repeat(false));
        Ok(large.into_iter().zip(has_filter).filter(|of| !of.1).map(|of| of.0).collect())
    }

    /// Returns the files of a run that were moved out of the worktree.
    pub fn list_set_aside(&self, run: RunId) -> Vec<PathBuf> {
        let keep = self.set_aside_folder(run);
        let mut found = Vec::new();
        let mut folders = vec![keep.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if let Ok(path) = entry.path().strip_prefix(&keep) {
                    found.push(path.to_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the fault of an attempt all of whose work is in files that no commit will have, if it is
    /// such an attempt.
    pub async fn find_only_set_aside(
        &self,
        set_aside: &SetAsideFiles,
    ) -> Result<Option<Fault>, Fault> {
        let SetAsideFiles { ignored, large } = set_aside;
        if ignored.is_empty() && large.is_empty() || !self.list_changes().await?.is_empty() {
            return Ok(None);
        }
        if !large.is_empty() {
            let names = render_path_names(large);
            let message = format!("your work is in a file that is too large for a commit: {names}");
            let output = format!(
                "Nothing but a file above {COMMITTED_SIZE} was changed: {names}. Hosts refuse such \
                 files, so I moved it out of the worktree. Solve the task with smaller files."
            );
            return Ok(Some(misplaced_work_fault(message, output)));
        }
        let names = render_path_names(ignored);
        let message = format!("your work is in files that git ignores: {names}");
        let output = format!(
            "Nothing but files that git ignores was changed: {names}. They are not part of the commit, \
             so I moved them out of the worktree. Solve the task with files that git tracks. \
             Where it asks for these very files, change .gitignore so that git does not ignore them."
        );
        Ok(Some(misplaced_work_fault(message, output)))
    }

    /// The files of the base that git ignores now and that the agent's own index no longer holds
    /// (`git rm --cached`).
    async fn find_no_longer_tracked(&self) -> Result<Vec<PathBuf>, Fault> {
        let listing = ["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"];
        let done = self.git_with_base_index().call(GitAction::Status).args(listing).run().await?;
        let mut candidates: Vec<PathBuf> = split_paths(&done.stdout).collect();
        let index = self.private.as_ref().and_then(PrivateRepository::read_index);
        let Some(index) = index.filter(|_| !candidates.is_empty()) else { return Ok(Vec::new()) };
        let theirs = self.git.with_index(self.state.write_file(AGENTS_INDEX, &index)?);
        let held = theirs.call(GitAction::Status).args(["ls-files", "--cached", "-z"]).run().await;
        self.state.delete_file(AGENTS_INDEX)?;
        // An index that cannot be read says nothing.
        let Ok(held) = held else { return Ok(Vec::new()) };
        let held: BTreeSet<PathBuf> = split_paths(&held.stdout).collect();
        candidates.retain(|path| !held.contains(path));
        Ok(candidates)
    }

    fn set_aside_folder(&self, run: RunId) -> PathBuf {
        self.state.kept_folder().join(run.to_string()).join("ignored")
    }

    /// Lists the files that git ignores, without by-products of tools, unless the task's text names
    /// them.
    async fn list_ignored(&self) -> Result<Vec<PathBuf>, Fault> {
        let listing = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z"];
        let done = self.git_with_base_index().call(GitAction::Status).args(listing).run().await?;
        let all: Vec<PathBuf> = split_paths(&done.stdout).collect();
        let named = self.read_named_paths()?;
        let is_work = |path: &PathBuf| {
            named.contains(path.as_os_str().as_bytes())
                || classify_by_product(&self.directory, path).is_none()
        };
        Ok(all.into_iter().filter(is_work).collect())
    }
}

/// Formats paths for the agent: the first few, and how many more there are.
pub fn render_path_names(files: &[PathBuf]) -> String {
    let named: Vec<String> =
        files.iter().take(NAMED_MAX).map(|file| file.display().to_string()).collect();
    match files.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn move_file_aside(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // A file that has disappeared meanwhile need not be moved.
    allow_missing(fs::rename(from, to)).map(drop)
}

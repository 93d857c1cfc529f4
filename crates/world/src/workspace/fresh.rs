//! A fresh checkout of a change, in which no agent has worked: a check that passes there passes
//! elsewhere.
//!
//! The worktree of a task holds more than its commit: installed packages, output of earlier checks,
//! and a home folder that the agent has used. A check that passes because of those proves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unstuck_core::engine::TaskId;
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;

use super::changes::{ChangeKind, WorktreeChange, WorktreeContent};
use super::ecosystem::{classify_by_product, is_manifest, names_tool_folder};
use super::elsewhere::IGNORED_NOTE;
use super::finish::remove_folder;
use super::project::ProjectRepository;
use super::state::{WorkspaceKey, io_fault};
use super::submodules::normalize_path;
use super::workspace::Workspace;
use crate::git::{GitAction, Oid, RefChange, split_paths};

/// Offset of the task ids of fresh checkouts: no plan is that long.
const FRESH: u32 = 1_000_000_000;
const PACKAGES: [&str; 6] =
    ["node_modules", "node_modules/.bin", ".venv", "venv", "vendor", "vendor/bundle"];
/// Folders of programs that packages install.
const PROGRAMS: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Folders of the home folder that are only caches.
const CACHES: [&str; 7] = [".cache", ".npm", ".cargo", ".rustup", "go", ".gradle", ".m2"];
/// Name of the note that the agent has left temporary files or an empty folder.
const TRACES_NOTE: &str = "traces";
/// Beginnings of the names of folders that agent programs make for themselves.
const AGENTS_OWN: [&str; 3] = ["claude-", ".claude", "codex-"];
/// Endings that a reference to a file may leave out.
const ENDINGS: [&str; 8] = ["", ".js", ".cjs", ".mjs", ".ts", ".json", ".py", ".rb"];
/// Maximum size of a changed file that is searched for references.
const REFERRING_BYTES_MAX: u64 = 256 * 1_024;
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

    /// Returns whether a check may pass because of something in the worktree that is not in its
    /// commit: packages were installed or changed, files are deleted that earlier builds were made
    /// of, git is told to check files out in another way, the change refers to by-products of
    /// tools, or the work left an empty folder or temporary files.
    pub async fn may_pass_by_leftovers(&self) -> Result<bool, Fault> {
        if self.in_place {
            return Ok(false);
        }
        let changes = self.list_changes().await?;
        // Both can invalidate earlier build output or installed packages.
        let touches_builds = |change: &WorktreeChange| {
            change.kind == ChangeKind::Deleted
                || is_manifest(&change.path)
                || change.path.file_name().is_some_and(|name| name == ".gitattributes")
        };
        Ok(changes.iter().any(touches_builds)
            || changes.iter().any(|change| self.refers_to_by_products(&change.path))
            || self.has_installed()
            || self.loses_executable_bit(&changes).await?
            || self.state.read_file(TRACES_NOTE)?.is_some())
    }

    /// Returns whether a changed file names a file in a folder of a tool that is not committed:
    /// `require("./dist/helper")`, `from build.helper import x`.
    fn refers_to_by_products(&self, path: &Path) -> bool {
        let file = self.directory.join(path);
        let is_text = fs::symlink_metadata(&file)
            .is_ok_and(|found| found.is_file() && found.len() <= REFERRING_BYTES_MAX);
        let Some(text) = is_text.then(|| fs::read_to_string(&file).ok()).flatten() else {
            return false;
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let in_name = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
        text.split(|sign: char| !in_name(sign)).any(|word| {
            let word = word.trim_start_matches("./").trim_end_matches('.');
            [word.to_owned(), word.replace('.', "/")].iter().any(|named| {
                let refers = |below: &Path| {
                    ENDINGS.iter().any(|ending| {
                        let path = normalize_path(&below.join(format!("{named}{ending}")));
                        self.directory.join(&path).is_file()
                            && classify_by_product(&self.directory, &path).is_some()
                    })
                };
                names_tool_folder(named) && (refers(folder) || refers(Path::new("")))
            })
        })
    }

    /// Returns whether git is told to ignore executable bits, and a new file has one.
    async fn loses_executable_bit(&self, changes: &[WorktreeChange]) -> Result<bool, Fault> {
        let is_executable = |change: &WorktreeChange| {
            let found = fs::symlink_metadata(self.directory.join(&change.path));
            change.kind == ChangeKind::Added
                && found
                    .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        if !changes.iter().any(is_executable) {
            return Ok(false);
        }
        let asked = ["config", "--type=bool", "--get", "core.fileMode"];
        let said = self.git.call(GitAction::Status).args(asked).run_expecting(&[0, 1]).await?;
        Ok(said.stdout.trim_ascii() == b"false")
    }

    /// Returns whether the worktree holds an empty folder, which no commit can hold.
    async fn has_empty_folder(&self) -> Result<bool, Fault> {
        let listing = ["ls-files", "--others", "--directory", "--exclude-standard", "-z"];
        let done = self.git_with_base_index().call(GitAction::Status).args(listing).run().await?;
        let is_empty = |path: PathBuf| {
            let folder = self.directory.join(&path);
            let entries = fs::read_dir(folder).map(|mut entries| entries.next().is_none());
            entries.unwrap_or(false) && classify_by_product(&self.directory, &path).is_none()
        };
        Ok(split_paths(&done.stdout).any(is_empty))
    }

    /// Returns whether packages or files of the home folder are newer than the note from before the
    /// work.
    fn has_installed(&self) -> bool {
        let Some(since) = self.work_began_at() else { return false };
        let folder = self.project_folder();
        let packages = PACKAGES.iter().map(|name| folder.join(name));
        let packages: Vec<_> = packages.filter(|path| !path.is_symlink()).collect();
        let programs = PROGRAMS.iter().filter_map(|name| fs::read_dir(folder.join(name)).ok());
        let programs = programs.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
        if packages.into_iter().chain(programs).any(|path| is_newer(&path, since)) {
            return true;
        }
        has_newer_file(self.state.private_folder().join("home"), since)
    }

    /// Notes whether the agent has left temporary files or an empty folder, which its checks would
    /// find. Checks leave files there as well, so this is asked before they run.
    pub async fn note_traces(&self) -> Result<(), Fault> {
        if self.in_place {
            return Ok(());
        }
        let folder = self.state.private_folder().join("temporary");
        let left = self.work_began_at().is_some_and(|since| has_newer_file(folder, since));
        if left || self.has_empty_folder().await? {
            self.state.write_file(TRACES_NOTE, b"").map(drop)
        } else {
            self.state.delete_file(TRACES_NOTE)
        }
    }

    /// Returns the time of the note from before the work.
    fn work_began_at(&self) -> Option<SystemTime> {
        let note = self.state.folder().join(IGNORED_NOTE);
        fs::metadata(&note).and_then(|note| note.modified()).ok()
    }
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|there| there.modified());
    modified.is_ok_and(|modified| modified > since)
}

/// Returns whether a folder holds a file that is newer, apart from caches and the agent's own files.
fn has_newer_file(folder: PathBuf, since: SystemTime) -> bool {
    let mut open = vec![folder];
    let mut looked_at = 0;
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            let name = entry.file_name();
            let of_agent = AGENTS_OWN.iter().any(|of| name.to_string_lossy().starts_with(of));
            let is_cache = CACHES.iter().any(|known| name == *known);
            if looked_at > LOOKED_AT_MAX || is_cache || of_agent {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ if is_newer(&entry.path(), since) => return true,
                _ => {}
            }
        }
    }
    false
}

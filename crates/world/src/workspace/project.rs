//! The repository that tasks work on: its checks at opening, its build branches, and the places of
//! worktrees.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::BuildId;
use unstuck_core::fault::{Fault, Missing};
use unstuck_core::text::{VALUE_CHARS_MAX, verbatim_line};

use super::names::{WorkspaceKey, build_branch_ref, build_start_ref, build_tip_ref};
use super::state::{TaskStateFolder, io_fault};
use crate::git::status::StatusEntry;
use crate::git::{Git, GitLayout, Oid, RefChange, RefSwapOutcome};

/// Name of the folder that holds all of Unstuck's files in the project; git does not see it.
pub(super) const FOLDER: &str = ".unstuck";

/// A branch of this name leaves no room for branches below `unstuck/`, because git keeps branches
/// as files.
const IN_THE_WAY: &str = "refs/heads/unstuck";
/// Maximum number of changed paths that are named.
const PATHS_NAMED_MAX: usize = 5;

/// The repository that tasks work on. Its own working tree belongs to the operator and is never
/// touched.
#[derive(Clone, Debug)]
pub struct ProjectRepository {
    pub(super) git: Git,
    pub(super) layout: GitLayout,
    pub(super) root: PathBuf,
}

impl ProjectRepository {
    /// Opens the repository whose working tree is at `root`. A repository that cannot be worked on
    /// (none there, no commit, no working tree, a shallow history) is `PRECONDITION_MISSING` with a
    /// message that says so.
    pub async fn open(program: impl Into<OsString>, root: &Path) -> Result<Self, Fault> {
        let root = fs::canonicalize(root).map_err(|error| {
            missing_fault(format!("{}: {error}", root.display()), "the project's folder")
        })?;
        let git = Git::new(program, &root);
        let layout = git.read_layout().await?;
        if layout.bare {
            let message = format!("{} has no working tree: it is bare", root.display());
            return Err(missing_fault(message, "a working tree"));
        }
        if layout.shallow {
            let message = format!(
                "the history of {} is cut off (a shallow clone). `git fetch --unshallow` completes it",
                root.display()
            );
            return Err(missing_fault(message, "the whole history"));
        }
        git.resolve_head().await?;
        // An agent that changes `.git` of the project meanwhile cannot redirect these calls.
        let git = if root.join(".git").exists() { git.with_layout(&layout) } else { git };
        let project = Self { git, layout, root };
        project.hide_own_folder()?;
        Ok(project)
    }

    /// Returns the commit that a new build starts from: the one that the operator has checked out,
    /// on a branch or not.
    pub async fn resolve_head(&self) -> Result<Oid, Fault> {
        self.git.resolve_head().await
    }

    /// Makes sure that a build which has not begun has no refs under its names. A branch that
    /// exists already belongs to the operator, or to a build whose record is gone, and is not built
    /// on.
    pub async fn clear_build_names(&self, build: BuildId) -> Result<(), Fault> {
        let branch = build_branch_ref(build);
        let short = branch.trim_start_matches("refs/heads/");
        if self.git.resolve_commit(&branch).await?.is_some() {
            let message = format!(
                "the branch {short} is there already, and no build of this project made it. `git \
                 branch -m {short} NAME` keeps it under another name"
            );
            return Err(missing_fault(message, &format!("the name {short} for the work")));
        }
        if self.git.resolve_commit(IN_THE_WAY).await?.is_some() {
            let message = format!(
                "there is a branch named unstuck, and git keeps no {short} beside it. `git branch -m \
                 unstuck NAME` gives it another name"
            );
            return Err(missing_fault(message, &format!("the name {short} for the work")));
        }
        let mut gone = Vec::new();
        for name in [build_start_ref(build), build_tip_ref(build)] {
            let old = self.git.resolve_commit(&name).await?;
            gone.extend(old.map(|old| RefChange { name, old: Some(old), new: None }));
        }
        self.git.swap_refs(&gone, "unstuck: forget a build").await.map(drop)
    }

    /// Returns the commit that a build started from. The first call records `head` as that commit.
    pub async fn ensure_build_start(&self, build: BuildId, head: &Oid) -> Result<Oid, Fault> {
        self.ensure_ref(build_start_ref(build), head).await
    }

    /// Returns the head of a build's branch. The first call creates the branch at `start`; a branch
    /// that was deleted meanwhile is created again at its last commit.
    pub async fn ensure_build_head(&self, build: BuildId, start: &Oid) -> Result<Oid, Fault> {
        let stands = self.find_build_tip(build).await?;
        self.ensure_ref(build_branch_ref(build), stands.as_ref().unwrap_or(start)).await
    }

    /// Returns the commit that a build's branch points to, or pointed to when it was deleted;
    /// `None` if the branch never existed.
    pub async fn find_build_tip(&self, build: BuildId) -> Result<Option<Oid>, Fault> {
        match self.git.resolve_commit(&build_branch_ref(build)).await? {
            None => self.git.resolve_commit(&build_tip_ref(build)).await,
            there => Ok(there),
        }
    }

    /// Returns the commit that a ref points to; creates the ref at `first` if there is none.
    async fn ensure_ref(&self, name: String, first: &Oid) -> Result<Oid, Fault> {
        if let Some(there) = self.git.resolve_commit(&name).await? {
            return Ok(there);
        }
        let made = RefChange { name, old: None, new: Some(first.clone()) };
        match self.git.swap_refs(&[made], "unstuck: start a build").await? {
            RefSwapOutcome::Moved { at: Some(there), .. } => Ok(there),
            _ => Ok(first.clone()),
        }
    }

    /// Returns an error that names changed paths if the operator's working tree has uncommitted
    /// changes.
    pub async fn require_clean(&self) -> Result<(), Fault> {
        let changed = self.git_in_place().status().await?;
        if changed.is_empty() {
            return Ok(());
        }
        let message =
            format!("{} has changes of its own: {}", self.root.display(), render_paths(&changed));
        Err(missing_fault(message, "a clean working tree"))
    }

    /// Returns a git client for the operator's own working tree.
    pub(super) fn git_in_place(&self) -> Git {
        self.git.for_worktree(&self.root, &self.layout.git_dir, &self.layout.common_dir)
    }

    /// Returns the full name of the branch that a build's tasks land on.
    pub fn build_branch(build: BuildId) -> String {
        build_branch_ref(build)
    }

    /// Returns the root of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the git client of the whole repository.
    pub const fn git(&self) -> &Git {
        &self.git
    }

    pub(super) fn worktree_folder(&self, place: WorkspaceKey) -> PathBuf {
        self.worktrees_folder().join(place.task.to_string())
    }

    /// Returns the folder that holds the worktrees of tasks.
    pub(super) fn worktrees_folder(&self) -> PathBuf {
        self.root.join(FOLDER).join("worktrees")
    }

    /// Returns an unused path for a worktree that is quarantined.
    pub(super) fn next_aside_folder(&self, place: WorkspaceKey) -> PathBuf {
        let folder = self.root.join(FOLDER).join("aside");
        let mut names = (1..).map(|n: u32| folder.join(format!("{}-{n}", place.task)));
        names.find(|path| !path.exists()).unwrap_or(folder)
    }

    pub(super) fn task_state(&self, place: WorkspaceKey) -> TaskStateFolder {
        TaskStateFolder::new(self.root.join(FOLDER).join("tasks").join(place.task.to_string()))
    }

    /// Makes the `.unstuck` folder ignore itself, so that the operator's `git status` does not
    /// change by its presence.
    fn hide_own_folder(&self) -> Result<(), Fault> {
        let file = self.root.join(FOLDER).join(".gitignore");
        if file.exists() {
            return Ok(());
        }
        let folder = self.root.join(FOLDER);
        // The files in it are for the operator's eyes only.
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&folder);
        let made = made.and_then(|()| fs::write(&file, "*\n"));
        made.map_err(|error| io_fault(&file, &error))
    }
}

/// Formats some of the changed paths, and how many more there are.
fn render_paths(changed: &[StatusEntry]) -> String {
    let shown: Vec<String> = changed
        .iter()
        .take(PATHS_NAMED_MAX)
        .map(|entry| verbatim_line(&entry.relative_path().to_string_lossy(), VALUE_CHARS_MAX))
        .collect();
    match changed.len().saturating_sub(PATHS_NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn missing_fault(message: String, what: &str) -> Fault {
    Fault::precondition_missing("workspace", message, Missing { what: what.to_owned() })
}

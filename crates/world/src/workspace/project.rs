//! The repository that tasks work on: its checks at opening, the branches of builds and the places
//! of worktrees, and what a build that is over has left behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::{BuildId, RunId};
use unstuck_core::fault::{Fault, Missing};
use unstuck_core::text::{VALUE_CHARS_MAX, verbatim_line};

use super::state::{
    TaskStateFolder, WorkspaceKey, attempt_ref, build_branch_ref, build_start_ref, build_tip_ref,
    io_fault,
};
use crate::git::status::StatusEntry;
use crate::git::{Git, GitLayout, Oid, RefChange, RefSwapOutcome, Worktree};

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
    /// The folder of the project, which holds its settings and Unstuck's files.
    pub(super) root: PathBuf,
    /// The root of the operator's working tree: the folder of the project, or one above it.
    pub(super) checkout: PathBuf,
}

impl ProjectRepository {
    /// Opens the repository of the project at `root`, a folder of its working tree. A repository that cannot be worked on
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
        let levels = layout.folder.components().count();
        let checkout = root.ancestors().nth(levels).unwrap_or(&root).to_owned();
        let git = Git::new(git.program().clone(), &checkout);
        // An agent that changes `.git` of the project meanwhile cannot redirect these calls.
        let git = if checkout.join(".git").exists() { git.with_layout(&layout) } else { git };
        let project = Self { git, layout, root, checkout };
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
        let message = format!(
            "{} has changes of its own: {}",
            self.checkout.display(),
            render_paths(&changed)
        );
        Err(missing_fault(message, "a clean working tree"))
    }

    /// Returns a git client for the operator's own working tree.
    pub(super) fn git_in_place(&self) -> Git {
        self.git.for_worktree(&self.checkout, &self.layout.git_dir, &self.layout.common_dir)
    }

    /// Returns the full name of the branch that a build's tasks land on.
    pub fn build_branch(build: BuildId) -> String {
        build_branch_ref(build)
    }

    /// Returns the folder of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the root of the working tree.
    pub fn checkout(&self) -> &Path {
        &self.checkout
    }

    /// Returns the folder of the project within the working tree; empty at its root.
    pub fn folder(&self) -> &Path {
        &self.layout.folder
    }

    /// Returns the git client of the whole repository.
    pub const fn git(&self) -> &Git {
        &self.git
    }

    pub(super) fn worktree_folder(&self, place: WorkspaceKey) -> PathBuf {
        self.worktrees_folder().join(place.task.to_string())
    }

    fn worktrees_folder(&self) -> PathBuf {
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

/// Prefix of branches.
const HEADS: &str = "refs/heads/";
/// Prefix of Unstuck's branches.
const OURS: &str = "refs/heads/unstuck/";
/// Prefix of remote-tracking branches.
const REMOTES: &str = "refs/remotes/";

/// A branch of a build or of one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverBranch {
    /// The full name of the branch.
    pub name: String,
    /// The commit it points to.
    pub at: Oid,
    /// The state that decides whether the branch can be deleted.
    pub branch: BranchStatus,
}

/// The state of a branch that decides whether it can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// Another branch contains all of its commits.
    Free,
    /// Number of its commits that no other branch contains.
    Needed(usize),
    /// A worktree at this path has it checked out.
    InUse(PathBuf),
}

impl ProjectRepository {
    /// Returns the folder of a task's worktree, if it exists.
    pub fn find_worktree(&self, place: WorkspaceKey) -> Option<PathBuf> {
        Some(self.worktree_folder(place)).filter(|folder| folder.is_dir())
    }

    /// Returns the full name of the branch that a task's worktree is on.
    pub fn task_branch(place: WorkspaceKey) -> String {
        place.branch_ref()
    }

    /// Returns the branches of a build and of its tasks, and whether they can be deleted. Worktrees
    /// of tasks do not count as users of them; the caller looks at those separately.
    pub async fn list_build_branches(&self, build: BuildId) -> Result<Vec<LeftoverBranch>, Fault> {
        let refs = self.git.list_refs(&[HEADS, REMOTES]).await?;
        let whole = build_branch_ref(build);
        let part = format!("{}.", build_branch_ref(build));
        let (ours, persons): (BTreeMap<_, _>, BTreeMap<_, _>) =
            refs.into_iter().partition(|(name, _)| name.starts_with(OURS));
        let build_tip = ours.get(&whole).cloned();
        let worktrees = self.git.list_worktrees().await?;
        let foreign = |tree: &&Worktree| !tree.path.starts_with(self.worktrees_folder());
        let others: Vec<&Worktree> = worktrees.iter().filter(foreign).collect();
        let mut found = Vec::new();
        for (name, at) in ours {
            let of_task = name.starts_with(&part);
            if name != whole && !of_task {
                continue;
            }
            // The commits of a task are safe in its build's branch, which is deleted only when the
            // operator's branches have them.
            let build = build_tip.iter().filter(|_| of_task);
            let user = others.iter().find(|tree| tree.branch.as_deref() == Some(&name));
            let branch = match user {
                Some(tree) => BranchStatus::InUse(tree.path.clone()),
                None => self.assess_branch(&at, persons.values().chain(build)).await?,
            };
            found.push(LeftoverBranch { name, at, branch });
        }
        Ok(found)
    }

    async fn assess_branch<'a>(
        &self,
        tip: &Oid,
        persons: impl Iterator<Item = &'a Oid>,
    ) -> Result<BranchStatus, Fault> {
        let mut fewest = usize::MAX;
        for other in persons {
            if self.git.contains_work_of(other, tip).await? {
                return Ok(BranchStatus::Free);
            }
            fewest = fewest.min(self.git.list_commits(other, tip).await?.len());
        }
        Ok(BranchStatus::Needed(fewest))
    }

    /// Deletes a branch of a build that is free, if it has not moved. Returns whether it is
    /// deleted, by this call or an earlier one.
    pub async fn delete_branch(
        &self,
        build: BuildId,
        leftover: &LeftoverBranch,
    ) -> Result<bool, Fault> {
        let LeftoverBranch { name, at, branch } = leftover;
        if *branch != BranchStatus::Free {
            return Ok(false);
        }
        let mut gone = vec![RefChange { name: name.clone(), old: Some(at.clone()), new: None }];
        if *name == build_branch_ref(build) {
            let tip = build_tip_ref(build);
            let old = self.git.resolve_commit(&tip).await?;
            gone.extend(old.map(|old| RefChange { name: tip, old: Some(old), new: None }));
        }
        Ok(self.git.swap_refs(&gone, "unstuck: clean").await? == RefSwapOutcome::Done)
    }

    /// Returns the number of these runs whose attempt is saved.
    pub async fn count_attempts(&self, runs: &[RunId]) -> Result<usize, Fault> {
        let saved = self.git.list_refs(&["refs/unstuck/attempts/"]).await?;
        Ok(runs.iter().filter(|run| saved.contains_key(&attempt_ref(**run))).count())
    }
}

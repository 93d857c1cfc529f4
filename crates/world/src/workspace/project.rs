//! The repository that tasks work on.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use unstuck_core::engine::BuildId;
use unstuck_core::fault::{Fault, Missing};
use unstuck_core::text::{VALUE_CHARS_MAX, verbatim};

use super::names::{Place, build_branch, build_start, build_tip};
use super::state::{State, failed};
use crate::git::status::Entry;
use crate::git::{Git, Layout, Oid, RefChange, Swapped};

/// Everything we keep is below this folder, and git does not see it.
pub(super) const FOLDER: &str = ".unstuck";

/// A branch that leaves no room for branches of ours: git keeps them as files.
const IN_THE_WAY: &str = "refs/heads/unstuck";
/// How many changed paths are named.
const PATHS_NAMED_MAX: usize = 5;

/// The repository that tasks work on. Its own working tree is a person's and is never touched.
#[derive(Clone, Debug)]
pub struct Project {
    pub(super) git: Git,
    pub(super) layout: Layout,
    pub(super) root: PathBuf,
}

impl Project {
    /// The repository whose working tree is at `root`. What cannot be worked on (no repository, no
    /// commit, no working tree, a history that is cut off) is `PRECONDITION_MISSING`, and says so.
    pub async fn open(program: impl Into<OsString>, root: &Path) -> Result<Self, Fault> {
        let root = fs::canonicalize(root).map_err(|error| {
            missing(format!("{}: {error}", root.display()), "the project's folder")
        })?;
        let git = Git::at(program, &root);
        let layout = git.layout().await?;
        if layout.bare {
            let message = format!("{} has no working tree: it is bare", root.display());
            return Err(missing(message, "a working tree"));
        }
        if layout.shallow {
            let message = format!(
                "the history of {} is cut off (a shallow clone). `git fetch --unshallow` completes it",
                root.display()
            );
            return Err(missing(message, "the whole history"));
        }
        git.head().await?;
        // What an agent does to `.git` of the project meanwhile leads nowhere else.
        let git = if root.join(".git").exists() { git.pinned(&layout) } else { git };
        let project = Self { git, layout, root };
        project.hide()?;
        Ok(project)
    }

    /// The commit that a new build starts from: what the person has checked out, on a branch or not.
    pub async fn head(&self) -> Result<Oid, Fault> {
        self.git.head().await
    }

    /// Makes sure that a build which has not begun finds nothing under its names. A branch that is there
    /// is the person's, or what is left of a build whose record is gone, and is not built on.
    pub async fn make_way(&self, build: BuildId) -> Result<(), Fault> {
        let branch = build_branch(build);
        let short = branch.trim_start_matches("refs/heads/");
        if self.git.commit_of(&branch).await?.is_some() {
            let message = format!(
                "the branch {short} is there already, and no build of this project made it. `git \
                 branch -m {short} NAME` keeps it under another name"
            );
            return Err(missing(message, &format!("the name {short} for the work")));
        }
        if self.git.commit_of(IN_THE_WAY).await?.is_some() {
            let message = format!(
                "there is a branch named unstuck, and git keeps no {short} beside it. `git branch -m \
                 unstuck NAME` gives it another name"
            );
            return Err(missing(message, &format!("the name {short} for the work")));
        }
        let mut gone = Vec::new();
        for name in [build_start(build), build_tip(build)] {
            let old = self.git.commit_of(&name).await?;
            gone.extend(old.map(|old| RefChange { name, old: Some(old), new: None }));
        }
        self.git.swap(&gone, "unstuck: forget a build").await.map(drop)
    }

    /// The commit that a build started from. The first call keeps `head` as that.
    pub async fn build_start(&self, build: BuildId, head: &Oid) -> Result<Oid, Fault> {
        self.kept(build_start(build), head).await
    }

    /// The head of a build's branch. The first call makes the branch at `start`; one that was deleted
    /// meanwhile is made again where it stood.
    pub async fn build_head(&self, build: BuildId, start: &Oid) -> Result<Oid, Fault> {
        let stands = self.build_tip(build).await?;
        self.kept(build_branch(build), stands.as_ref().unwrap_or(start)).await
    }

    /// Where a build's branch stands, or stood when it was deleted; nothing where it never was.
    pub async fn build_tip(&self, build: BuildId) -> Result<Option<Oid>, Fault> {
        match self.git.commit_of(&build_branch(build)).await? {
            None => self.git.commit_of(&build_tip(build)).await,
            there => Ok(there),
        }
    }

    /// Where a ref points to, which is made at `first` when there is none.
    async fn kept(&self, name: String, first: &Oid) -> Result<Oid, Fault> {
        if let Some(there) = self.git.commit_of(&name).await? {
            return Ok(there);
        }
        let made = RefChange { name, old: None, new: Some(first.clone()) };
        match self.git.swap(&[made], "unstuck: start a build").await? {
            Swapped::Moved { at: Some(there), .. } => Ok(there),
            _ => Ok(first.clone()),
        }
    }

    /// That the person's own tree has no changes of its own.
    pub async fn require_clean(&self) -> Result<(), Fault> {
        let changed = self.git_in_place().status().await?;
        if changed.is_empty() {
            return Ok(());
        }
        let message =
            format!("{} has changes of its own: {}", self.root.display(), named(&changed));
        Err(missing(message, "a clean working tree"))
    }

    /// Git, for the person's own working tree.
    pub(super) fn git_in_place(&self) -> Git {
        self.git.in_worktree(&self.root, &self.layout.git_dir, &self.layout.common_dir)
    }

    /// The branch that a build's tasks land on, in full.
    pub fn branch(build: BuildId) -> String {
        build_branch(build)
    }

    /// The root of its working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Git, for the whole repository.
    pub const fn git(&self) -> &Git {
        &self.git
    }

    pub(super) fn worktree(&self, place: Place) -> PathBuf {
        self.worktrees().join(place.task.to_string())
    }

    /// Where the worktrees of tasks are.
    pub(super) fn worktrees(&self) -> PathBuf {
        self.root.join(FOLDER).join("worktrees")
    }

    /// A place for a worktree that is put aside, which nothing has yet.
    pub(super) fn aside(&self, place: Place) -> PathBuf {
        let folder = self.root.join(FOLDER).join("aside");
        let mut names = (1..).map(|n: u32| folder.join(format!("{}-{n}", place.task)));
        names.find(|path| !path.exists()).unwrap_or(folder)
    }

    pub(super) fn state(&self, place: Place) -> State {
        State::at(self.root.join(FOLDER).join("tasks").join(place.task.to_string()))
    }

    /// Our folder ignores itself, so that a person's `git status` does not change by our being here.
    fn hide(&self) -> Result<(), Fault> {
        let file = self.root.join(FOLDER).join(".gitignore");
        if file.exists() {
            return Ok(());
        }
        let folder = self.root.join(FOLDER);
        // What we keep is for the person's eyes only.
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&folder);
        let made = made.and_then(|()| fs::write(&file, "*\n"));
        made.map_err(|error| failed(&file, &error))
    }
}

/// Some of the paths that differ, and how many more there are.
fn named(changed: &[Entry]) -> String {
    let shown: Vec<String> = changed
        .iter()
        .take(PATHS_NAMED_MAX)
        .map(|entry| verbatim(&entry.path().to_string_lossy(), VALUE_CHARS_MAX))
        .collect();
    match changed.len().saturating_sub(PATHS_NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn missing(message: String, what: &str) -> Fault {
    Fault::precondition_missing("workspace", message, Missing { what: what.to_owned() })
}

//! The worktree of a task, with access to its base, its indexes and its quarantine; saving its
//! content and moving it to another.
//!
//! A move survives a kill at any point. The destination is written down first, as a commit under
//! `refs/unstuck/pending`: its tree is the content to reach, its first parent is the new base, its
//! second the previous content of the worktree. The next process that finds that ref finishes the
//! move; doing so twice is the same as once.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::fault::{Fault, GitOperation};
use unstuck_core::time::Time;

use super::private::PrivateRepository;
use super::project::{ProjectRepository, missing_fault};
use super::state::{TaskStateFolder, WorkspaceKey, attempt_ref, io_fault};
use crate::git::{CommitAuthor, Git, GitAction, NewCommit, Oid, RefChange, RefSwapOutcome};

/// Name of the state file with the reason why a worktree is quarantined for the operator.
pub(super) const QUARANTINE: &str = "quarantine";

/// The worktree of a task.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) project: ProjectRepository,
    pub(super) place: WorkspaceKey,
    pub(super) directory: PathBuf,
    /// The git folder through which the supervisor looks at the files; the agent has a separate
    /// one.
    pub(super) git_dir: PathBuf,
    /// The agent's own repository; `None` in the operator's own working tree.
    pub(super) private: Option<PrivateRepository>,
    pub(super) git: Git,
    pub(super) state: TaskStateFolder,
    /// The full name of the branch that is checked out.
    pub(super) branch: String,
    /// `true` if the worktree is the operator's own working tree.
    pub(super) in_place: bool,
    /// Paths that are shared with the operator's working tree and belong to no change.
    pub(super) shared: Vec<PathBuf>,
}

impl Workspace {
    /// Returns the root of the worktree.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the folder of the project in the worktree, where agents, checks and setup start.
    pub fn project_folder(&self) -> PathBuf {
        self.directory.join(self.project.folder())
    }

    /// Returns the path from the root of the worktree of one that is relative to the project.
    pub fn locate(&self, path: &Path) -> PathBuf {
        self.project.folder().join(path)
    }

    /// Makes the folder of the project, which a worktree lacks if git tracks no file in it.
    pub(super) fn ensure_project_folder(&self) -> Result<(), Fault> {
        let folder = self.project_folder();
        fs::create_dir_all(&folder).map_err(|error| io_fault(&folder, &error))
    }

    /// Returns the commit that the change is counted from.
    pub async fn resolve_base(&self) -> Result<Oid, Fault> {
        let name = self.place.base_ref();
        let base = self.git.resolve_commit(&name).await?;
        base.ok_or_else(|| {
            missing_fault(format!("{name} is gone"), "the commit the task started from")
        })
    }

    /// Replaces the content of a changed file of the worktree.
    pub fn rewrite_file(&self, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
        let to = self.directory.join(path);
        fs::write(&to, bytes).map_err(|error| io_fault(&to, &error))
    }

    /// Returns the content of a file in the base, or `None` if the base has no such file.
    pub async fn read_base_file(&self, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
        self.git.read_file_at(&self.resolve_base().await?, path).await
    }

    /// Returns the text files of the base that contain a word.
    pub async fn find_base_files_with_word(&self, word: &str) -> Result<Vec<PathBuf>, Fault> {
        self.git.find_files_with_word(&self.resolve_base().await?, word).await
    }

    /// Returns the reason why the worktree is quarantined, if it is.
    pub fn quarantine_reason(&self) -> Result<Option<String>, Fault> {
        let why = self.state.read_file(QUARANTINE)?;
        Ok(why.map(|why| String::from_utf8_lossy(&why).into_owned()))
    }

    /// Returns a git client with the supervisor's index, which holds the base.
    pub(super) fn git_with_base_index(&self) -> Git {
        self.git.with_index(self.state.index_file())
    }

    /// Returns a git client with a scratch index, which starts as a copy of the supervisor's.
    pub(super) fn git_with_scratch_index(&self) -> Result<Git, Fault> {
        self.state.copy_file(&self.state.index_file(), &self.state.scratch_index_file())?;
        Ok(self.git.with_index(self.state.scratch_index_file()))
    }

    pub(super) async fn resolve_tree(&self, commit: &Oid) -> Result<Oid, Fault> {
        let tree = self.git.resolve_tree(commit.as_str()).await?;
        tree.ok_or_else(|| missing_fault(format!("{commit} is gone"), "a commit of the task"))
    }

    /// Quarantines the worktree after files could not be restored, and returns the fault: the
    /// worktree is left as it is, and no step runs in it until the operator has looked.
    pub(super) fn quarantine_worktree(&self, cause: &Fault) -> Fault {
        let message = format!("{} is set aside: {}", self.directory.display(), cause.message);
        // If the file cannot be written, the fault still reports it.
        let _ = self.state.write_file(QUARANTINE, message.as_bytes());
        let context = GitOperation { operation: "revert".to_owned(), ..GitOperation::default() };
        Fault::git_revert_failed("git.revert", message, context).with_cause(cause)
    }
}

impl Workspace {
    /// Saves the changes of a run under `refs/unstuck/attempts/<run>`; returns `None` if there are
    /// none. Touches neither the operator's index nor the agent's.
    pub async fn save_attempt(&self, run: RunId, now: Time) -> Result<Option<Oid>, Fault> {
        self.dissolve_repositories(run).await?;
        let base = self.resolve_base().await?;
        let tree = self.write_tree(&self.list_changes().await?).await?;
        let own = self.import_head(&base).await?;
        if own.is_none() && tree == self.resolve_tree(&base).await? {
            return Ok(None);
        }
        // The agent's own commits stay reachable.
        let parents: Vec<Oid> = [Some(base), own].into_iter().flatten().collect();
        let message = format!("Attempt {run} of {}\n", self.place.task);
        let saved = self.commit_snapshot(&tree, &parents, &message, now).await?;
        self.point_ref(&attempt_ref(run), &saved).await?;
        Ok(Some(saved))
    }

    /// Makes an unsigned commit that only saves a tree.
    pub(super) async fn commit_snapshot(
        &self,
        tree: &Oid,
        parents: &[Oid],
        message: &str,
        at: Time,
    ) -> Result<Oid, Fault> {
        let name = "Unstuck".to_owned();
        let person = CommitAuthor { name, email: "unstuck@unstuck.invalid".to_owned() };
        let new = NewCommit { tree, parents, message, person: &person, at, signed: false };
        self.git.create_commit(new).await
    }

    /// Points a ref of Unstuck at a commit, regardless of its current value.
    pub(super) async fn point_ref(&self, name: &str, to: &Oid) -> Result<(), Fault> {
        let old = self.git.resolve_commit(name).await?;
        let change = RefChange { name: name.to_owned(), old, new: Some(to.clone()) };
        require_swapped(GitAction::Commit, self.git.swap_refs(&[change], "unstuck").await?)
    }
}

/// Returns a fault if a ref of Unstuck, which no other program should move, was moved meanwhile.
fn require_swapped(action: GitAction, swapped: RefSwapOutcome) -> Result<(), Fault> {
    match swapped {
        RefSwapOutcome::Done => Ok(()),
        RefSwapOutcome::Moved { name, .. } => {
            let message = format!("another process moved {name}");
            Err(action.to_fault(message, None, Some(&name)))
        }
    }
}

/// Points refs of a task at its base, in one transaction.
pub(super) async fn point_refs(
    project: &ProjectRepository,
    names: impl IntoIterator<Item = String>,
    base: &Oid,
) -> Result<(), Fault> {
    let changes = list_ref_changes(&project.git, names, base).await?;
    if changes.is_empty() {
        return Ok(());
    }
    let swapped = project.git.swap_refs(&changes, "unstuck: begin a task").await?;
    require_swapped(GitAction::Commit, swapped)
}

/// Returns the changes of those of these refs that are not at `to` yet.
async fn list_ref_changes(
    git: &Git,
    names: impl IntoIterator<Item = String>,
    to: &Oid,
) -> Result<Vec<RefChange>, Fault> {
    let mut changes = Vec::new();
    for name in names {
        let old = git.resolve_commit(&name).await?;
        if old.as_ref() != Some(to) {
            changes.push(RefChange { name, old, new: Some(to.clone()) });
        }
    }
    Ok(changes)
}

impl Workspace {
    /// Makes the worktree hold `tree`, with `base` as its new base. `saved` is a commit of its
    /// current content.
    pub(super) async fn relocate_to(
        &self,
        tree: &Oid,
        base: &Oid,
        saved: &Oid,
        now: Time,
    ) -> Result<(), Fault> {
        let mut parents = vec![base.clone()];
        if saved != base {
            parents.push(saved.clone());
        }
        let to = self.commit_snapshot(tree, &parents, "Where the worktree goes\n", now).await?;
        self.point_ref(&self.place.pending_ref(), &to).await?;
        self.finish_move().await
    }

    /// Finishes a move that was begun, if there is one.
    pub(super) async fn finish_move(&self) -> Result<(), Fault> {
        let pending = self.place.pending_ref();
        let Some(to) = self.git.resolve_commit(&pending).await? else { return Ok(()) };
        let base = self.git.resolve_commit(&format!("{to}^1")).await?.unwrap_or_else(|| to.clone());
        let saved =
            self.git.resolve_commit(&format!("{to}^2")).await?.unwrap_or_else(|| base.clone());
        self.move_files(&to, &base, &saved).await?;
        self.ensure_submodules(&self.git_with_base_index(), &base).await?;
        self.move_refs(&to, &base).await
    }

    async fn move_files(&self, to: &Oid, base: &Oid, saved: &Oid) -> Result<(), Fault> {
        let scratch = self.git_with_scratch_index()?;
        let there = self.resolve_tree(saved).await?;
        let wanted = self.resolve_tree(to).await?;
        scratch.read_tree(&there).await?;
        if self.in_place {
            // The operator's own edits are in neither tree.
            let differing = scratch.diff_trees(&there, &wanted).await?;
            let both = differing.into_iter().flat_map(|of| [Some(of.path), of.from]);
            let paths: Vec<PathBuf> = both.flatten().collect();
            scratch.check_out_paths(&wanted, &paths).await?;
        } else {
            scratch.check_out_tree(&wanted).await?;
        }
        self.note_untouched_again(&scratch).await?;
        scratch.read_tree(&self.resolve_tree(base).await?).await?;
        self.position_agent_at(base)?;
        self.state.copy_file(&self.state.scratch_index_file(), &self.state.index_file())
    }

    async fn move_refs(&self, to: &Oid, base: &Oid) -> Result<(), Fault> {
        let mut changes =
            vec![RefChange { name: self.place.pending_ref(), old: Some(to.clone()), new: None }];
        let mut moved = vec![self.place.base_ref()];
        if !self.in_place {
            moved.push(self.branch.clone());
        }
        changes.extend(list_ref_changes(&self.git, moved, base).await?);
        let swapped = self.git.swap_refs(&changes, "unstuck: move a worktree").await?;
        require_swapped(GitAction::Revert, swapped)
    }
}

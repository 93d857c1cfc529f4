//! A task's worktree.

use std::path::{Path, PathBuf};

use unstuck_core::fault::{Fault, GitOperation};

use super::names::Place;
use super::private::PrivateRepository;
use super::project::{Project, missing};
use super::state::State;
use crate::git::{Git, Oid, Person};

/// The file that says why a worktree is set aside for a person.
pub(super) const QUARANTINE: &str = "quarantine";

/// A task's worktree.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) project: Project,
    pub(super) place: Place,
    pub(super) directory: PathBuf,
    /// The git folder through which the supervisor looks at it; the agent has one of its own.
    pub(super) git_dir: PathBuf,
    /// The agent's own repository; none in the person's own working tree.
    pub(super) private: Option<PrivateRepository>,
    pub(super) git: Git,
    pub(super) state: State,
    /// The branch it is on, in full.
    pub(super) branch: String,
    /// Whether it is the person's own working tree.
    pub(super) in_place: bool,
    /// Paths that are shared with the person's working tree and belong to no change.
    pub(super) shared: Vec<PathBuf>,
}

impl Workspace {
    /// Where the agent works.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The commit that its change is counted from.
    pub async fn base(&self) -> Result<Oid, Fault> {
        let name = self.place.base();
        let base = self.git.commit_of(&name).await?;
        base.ok_or_else(|| missing(format!("{name} is gone"), "the commit the task started from"))
    }

    /// What the base has in a file; nothing where it has none.
    pub async fn base_file(&self, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
        self.git.file_at(&self.base().await?, path).await
    }

    /// Why it is set aside for a person, where it is.
    pub fn quarantined(&self) -> Result<Option<String>, Fault> {
        let why = self.state.read(QUARANTINE)?;
        Ok(why.map(|why| String::from_utf8_lossy(&why).into_owned()))
    }

    /// Git with our own index, which holds the base.
    pub(super) fn ours(&self) -> Git {
        self.git.with_index(self.state.index())
    }

    /// Git with an index to work with, which starts as ours.
    pub(super) fn scratch(&self) -> Result<Git, Fault> {
        self.state.copy(&self.state.index(), &self.state.scratch_index())?;
        Ok(self.git.with_index(self.state.scratch_index()))
    }

    pub(super) async fn tree_of(&self, commit: &Oid) -> Result<Oid, Fault> {
        let tree = self.git.tree_of(commit.as_str()).await?;
        tree.ok_or_else(|| missing(format!("{commit} is gone"), "a commit of the task"))
    }

    /// A fault about files that could not be put where they belong: the worktree is left as it is,
    /// and nothing is done in it until a person has looked.
    pub(super) fn quarantine(&self, cause: &Fault) -> Fault {
        let message = format!("{} is set aside: {}", self.directory.display(), cause.message);
        // If not even that can be written, the fault still says it.
        let _ = self.state.write(QUARANTINE, message.as_bytes());
        let context = GitOperation { operation: "revert".to_owned(), ..GitOperation::default() };
        Fault::git_revert_failed("git.revert", message, context).caused_by(cause)
    }
}

/// Who saves things that are nobody's work of their own.
pub(super) fn unstuck() -> Person {
    Person { name: "Unstuck".to_owned(), email: "unstuck@unstuck.invalid".to_owned() }
}

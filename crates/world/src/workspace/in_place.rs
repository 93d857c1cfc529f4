//! Work in the operator's own working tree.
//!
//! The tree has to be clean and at the commit that the build continues from, so that every later
//! difference is the task's. The operator's branch moves by the supervisor's commit alone: commits
//! of an agent there are reverted after its attempt, and if the branch was moved otherwise
//! meanwhile, no commit is put on top of it.

use unstuck_core::fault::Fault;

use super::names::Place;
use super::prepare::{Preparation, all_at};
use super::project::{Project, missing};
use super::workspace::Workspace;
use crate::git::Oid;

/// Name of the state file that says that a task works in the operator's own tree, with the branch.
pub(super) const IN_PLACE: &str = "in-place";
/// Name of the state file with the commit that was made of a task's change.
const COMMIT: &str = "commit";
/// Name that stands for a detached head.
const HEAD: &str = "HEAD";

impl Workspace {
    pub(super) async fn take_in_place(
        project: &Project,
        wanted: &Preparation,
    ) -> Result<Self, Fault> {
        let (place, state) = (wanted.place, project.state(wanted.place));
        let git = project.git_in_place();
        // The supervisor's index comes last: its presence says that the tree is taken.
        if git.commit_of(&place.base()).await?.is_none() || !state.index().is_file() {
            project.require_clean().await?;
            let head = git.head().await?;
            if head != wanted.head {
                let root = project.root.display();
                let message = format!("{root} is not at {}, where the build stands", wanted.head);
                return Err(missing(message, "the build's commit in the working tree"));
            }
            let branch = git.branch().await?.unwrap_or_else(|| HEAD.to_owned());
            state.write(IN_PLACE, branch.as_bytes())?;
            all_at(project, [place.base()], &head).await?;
            state.copy(&project.layout.git_dir.join("index"), &state.index())?;
        }
        let workspace = Self::in_place_at(project, place).await?;
        workspace.tell_apart().await?;
        Ok(workspace)
    }

    /// Returns the workspace of the operator's tree, as a task has taken it.
    pub(super) async fn in_place_at(project: &Project, place: Place) -> Result<Self, Fault> {
        let git_dir = project.layout.git_dir.clone();
        let state = project.state(place);
        let git = project.git_in_place();
        let branch = git.branch().await?.unwrap_or_else(|| HEAD.to_owned());
        let taken = state.read(IN_PLACE)?.unwrap_or_default();
        if taken != branch.as_bytes() {
            let taken = String::from_utf8_lossy(&taken);
            let message = format!("{} is on {branch} and not on {taken}", project.root.display());
            return Err(missing(message, "the branch that the task was begun on"));
        }
        Ok(Self {
            project: project.clone(),
            place,
            directory: project.root.clone(),
            branch,
            private: None,
            git_dir,
            git,
            state,
            in_place: true,
            shared: Vec::new(),
        })
    }

    /// Points the task's branch at the commit of its change. Fails in the operator's tree if the
    /// branch has moved otherwise.
    pub(super) async fn point_branch(&self, base: &Oid, commit: &Oid) -> Result<(), Fault> {
        if self.in_place {
            let tip = self.git.commit_of(&self.branch).await?;
            if tip.as_ref() != Some(base) && tip != self.noted_commit()? {
                let message = format!("another process moved {}", self.branch);
                return Err(missing(message, "the branch as the task found it"));
            }
            self.state.write(COMMIT, commit.as_str().as_bytes())?;
        }
        self.point(&self.branch, commit).await?;
        self.point_private(commit)
    }

    /// Returns the commit that was made in the operator's tree on top of the base, or the base if
    /// there is none.
    pub(super) async fn made_in_place(&self, base: Oid) -> Result<Oid, Fault> {
        match self.noted_commit()? {
            Some(made) if self.git.is_ancestor(&base, &made).await? => Ok(made),
            _ => Ok(base),
        }
    }

    fn noted_commit(&self) -> Result<Option<Oid>, Fault> {
        Ok(self.state.read(COMMIT)?.and_then(|noted| Oid::read(&noted)))
    }
}

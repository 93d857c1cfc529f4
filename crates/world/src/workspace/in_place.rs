//! Working in the person's own tree.
//!
//! It is taken clean and at the commit that the build goes on from, so that everything that differs
//! from then on is the task's. The person's branch moves by our commit alone: what an agent commits
//! there is put back after its attempt, and where something else moved the branch meanwhile nothing
//! of ours is put on top of it.

use unstuck_core::fault::Fault;

use super::names::Place;
use super::prepare::{Preparation, all_at};
use super::project::{Project, missing};
use super::workspace::Workspace;
use crate::git::Oid;

/// Says that a task works in the person's own tree, and on which branch.
pub(super) const IN_PLACE: &str = "in-place";
/// The commit that was made of a task's change.
const COMMIT: &str = "commit";
/// What a head without a branch is called.
const HEAD: &str = "HEAD";

impl Workspace {
    pub(super) async fn take_in_place(
        project: &Project,
        wanted: &Preparation,
    ) -> Result<Self, Fault> {
        let (place, state) = (wanted.place, project.state(wanted.place));
        let git = project.git_in_place();
        // Our index comes last and says that the tree is taken.
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

    /// The person's tree, as a task has taken it.
    pub(super) async fn in_place_at(project: &Project, place: Place) -> Result<Self, Fault> {
        let (git_dir, state) = (project.layout.git_dir.clone(), project.state(place));
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

    /// Lets the task's branch point at the commit of its change.
    pub(super) async fn point_branch(&self, base: &Oid, commit: &Oid) -> Result<(), Fault> {
        if self.in_place {
            let tip = self.git.commit_of(&self.branch).await?;
            if tip.as_ref() != Some(base) && tip != self.noted_commit()? {
                let message = format!("{} was moved by somebody else", self.branch);
                return Err(missing(message, "the branch as the task found it"));
            }
            self.state.write(COMMIT, commit.as_str().as_bytes())?;
        }
        self.point(&self.branch, commit).await?;
        self.point_private(commit)
    }

    /// The commit that was made in the person's tree and goes on from the base; else the base.
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

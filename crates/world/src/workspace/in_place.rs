//! Work in the operator's own working tree.
//!
//! The tree has to be clean and at the commit that the build continues from, so that every later
//! difference is the task's. The operator's branch moves by the supervisor's commit alone: commits
//! of an agent there are reverted after its attempt, and if the branch was moved otherwise
//! meanwhile, no commit is put on top of it.

use unstuck_core::fault::Fault;

use super::names::WorkspaceKey;
use super::prepare::{WorkspacePreparation, point_refs};
use super::project::{ProjectRepository, missing_fault};
use super::workspace::Workspace;
use crate::git::Oid;

/// Name of the state file that says that a task works in the operator's own tree, with the branch.
pub(super) const IN_PLACE: &str = "in-place";
/// Name of the state file with the commit that was made of a task's change.
const COMMIT: &str = "commit";
/// Name that stands for a detached head.
const HEAD: &str = "HEAD";

impl Workspace {
    pub(super) async fn prepare_in_place(
        project: &ProjectRepository,
        wanted: &WorkspacePreparation,
    ) -> Result<Self, Fault> {
        let (place, state) = (wanted.place, project.task_state(wanted.place));
        let git = project.git_in_place();
        // The supervisor's index comes last: its presence says that the tree is taken.
        if git.resolve_commit(&place.base_ref()).await?.is_none() || !state.index_file().is_file() {
            project.require_clean().await?;
            let head = git.resolve_head().await?;
            if head != wanted.head {
                let root = project.root.display();
                let message = format!("{root} is not at {}, where the build stands", wanted.head);
                return Err(missing_fault(message, "the build's commit in the working tree"));
            }
            let branch = git.current_branch().await?.unwrap_or_else(|| HEAD.to_owned());
            state.write_file(IN_PLACE, branch.as_bytes())?;
            point_refs(project, [place.base_ref()], &head).await?;
            state.copy_file(&project.layout.git_dir.join("index"), &state.index_file())?;
        }
        let workspace = Self::open_in_place(project, place).await?;
        workspace.separate_person_changes().await?;
        Ok(workspace)
    }

    /// Returns the workspace of the operator's tree, as a task has taken it.
    pub(super) async fn open_in_place(
        project: &ProjectRepository,
        place: WorkspaceKey,
    ) -> Result<Self, Fault> {
        let git_dir = project.layout.git_dir.clone();
        let state = project.task_state(place);
        let git = project.git_in_place();
        let branch = git.current_branch().await?.unwrap_or_else(|| HEAD.to_owned());
        let taken = state.read_file(IN_PLACE)?.unwrap_or_default();
        if taken != branch.as_bytes() {
            let taken = String::from_utf8_lossy(&taken);
            let message = format!("{} is on {branch} and not on {taken}", project.root.display());
            return Err(missing_fault(message, "the branch that the task was begun on"));
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
            let tip = self.git.resolve_commit(&self.branch).await?;
            if tip.as_ref() != Some(base) && tip != self.read_noted_commit()? {
                let message = format!("another process moved {}", self.branch);
                return Err(missing_fault(message, "the branch as the task found it"));
            }
            self.state.write_file(COMMIT, commit.as_str().as_bytes())?;
        }
        self.point_ref(&self.branch, commit).await?;
        self.point_private_branch(commit)
    }

    /// Returns the commit that was made in the operator's tree on top of the base, or the base if
    /// there is none.
    pub(super) async fn find_commit_in_place(&self, base: Oid) -> Result<Oid, Fault> {
        match self.read_noted_commit()? {
            Some(made) if self.git.is_ancestor(&base, &made).await? => Ok(made),
            _ => Ok(base),
        }
    }

    fn read_noted_commit(&self) -> Result<Option<Oid>, Fault> {
        Ok(self.state.read_file(COMMIT)?.and_then(|noted| Oid::parse(&noted)))
    }
}

//! A repository with a task in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unstuck_core::engine::{BuildId, RunId, Start, TaskId};
use unstuck_core::fault::Fault;
use unstuck_core::time::Time;
use unstuck_testkit::stage::{TestRepo, write_file};
use unstuck_world::git::Oid;
use unstuck_world::process::{Wall, WallEnforcement};
use unstuck_world::workspace::{
    ProjectRepository, Shell, Workspace, WorkspaceKey, WorkspacePreparation,
};

use super::{block_on, guard};

pub(crate) const NOW: Time = Time::from_millis(1_700_000_000_000);
pub(crate) const PLACE: WorkspaceKey = WorkspaceKey { build: BuildId(1), task: TaskId(1) };

pub(crate) struct Stage {
    pub(crate) repo: TestRepo,
    pub(crate) project: ProjectRepository,
    pub(crate) first: Oid,
}

impl Stage {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = TestRepo::with(files);
        let project = block_on(ProjectRepository::open("git", &repo.root)).unwrap();
        let first = repo.oid("HEAD");
        block_on(project.ensure_build_head(PLACE.build, &first)).unwrap();
        Self { repo, project, first }
    }

    /// The same with a fresh worktree.
    pub(crate) fn with_worktree(files: &[(&str, &str)]) -> (Self, Workspace) {
        let stage = Self::with(files);
        let workspace = stage.fresh();
        (stage, workspace)
    }

    pub(crate) fn shell(&self) -> Shell {
        Shell {
            guard: guard(),
            lock: self.repo.beside("lock"),
            inherits_environment: true,
            environment: Vec::new(),
            timeout: Duration::from_mins(1),
            wall: Wall::default(),
        }
    }

    pub(crate) fn preparation(&self, start: Start, run: u64) -> WorkspacePreparation {
        WorkspacePreparation {
            place: PLACE,
            run: RunId(run),
            start,
            head: block_on(self.project.ensure_build_head(PLACE.build, &self.first)).unwrap(),
            share: Vec::new(),
            setup: Vec::new(),
            in_place: false,
            now: NOW,
        }
    }

    pub(crate) fn prepare(&self, start: Start, run: u64) -> Workspace {
        self.try_prepare(&self.preparation(start, run)).unwrap()
    }

    pub(crate) fn try_prepare(&self, wanted: &WorkspacePreparation) -> Result<Workspace, Fault> {
        let workspace = block_on(Workspace::prepare(&self.project, wanted, &self.shell()))?;
        block_on(workspace.note_repository(WallEnforcement::default(), &Wall::default()))?;
        Ok(workspace)
    }

    /// A fresh worktree.
    pub(crate) fn fresh(&self) -> Workspace {
        self.prepare(Start::Fresh, 1)
    }
}

pub(crate) fn put(workspace: &Workspace, path: &str, text: &str) {
    write_file(&workspace.directory().join(path), text);
}

pub(crate) fn text(workspace: &Workspace, path: &str) -> String {
    std::fs::read_to_string(workspace.directory().join(path)).unwrap()
}

/// What changed, in the order of the paths.
pub(crate) fn changed(workspace: &Workspace) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        block_on(workspace.list_changes()).unwrap().into_iter().map(|change| change.path).collect();
    paths.sort();
    paths
}

pub(crate) fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(|path| Path::new(path).to_owned()).collect()
}

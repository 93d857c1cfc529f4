//! Finds and removes the leftovers of builds.

use serde::Serialize;
use unstuck_core::engine::RunId;
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace::{
    self, BranchStatus, LeftoverBranch, RemovalOutcome, Workspace, WorkspaceKey, WorktreeKeepReason,
};

use super::size;
use crate::error::CliError;
use crate::project::LocalProject;
use crate::render::words;

/// The prefix of a branch's full name.
const HEADS: &str = "refs/heads/";

/// The leftovers that were found or removed.
#[derive(Debug, Default, Serialize)]
pub(super) struct SweepResult {
    /// Set if the leftovers were removed, not only listed.
    pub(super) removed: bool,
    pub(super) things: Vec<SweepItem>,
    /// Number of saved attempts, which stay.
    pub(super) attempts: usize,
    /// Bytes that are free now, or would be.
    pub(super) freed_bytes: u64,
}

/// A worktree or a branch.
#[derive(Debug, Serialize)]
pub(super) struct SweepItem {
    pub(super) what: String,
    pub(super) bytes: u64,
    /// The reason for keeping it; `None` if it is removed.
    pub(super) kept: Option<String>,
}

impl SweepResult {
    /// Returns how many leftovers are removed.
    pub(super) fn removable_count(&self) -> usize {
        self.things.iter().filter(|thing| thing.kept.is_none()).count()
    }
}

pub(super) async fn sweep_builds(
    project: &LocalProject,
    store: &dyn Store,
    remove: bool,
) -> Result<SweepResult, CliError> {
    let repository = workspace::ProjectRepository::open("git", project.root()).await?;
    let name = project.name();
    let mut swept = SweepResult { removed: remove, ..SweepResult::default() };
    for build in store.load_builds(name).await?.iter().filter(|build| build.is_performed_here()) {
        let tasks = store.load_build_tasks(name, build.id).await?;
        let mut sweep = BuildSweep {
            repository: &repository,
            build,
            remove,
            stay: Vec::new(),
            swept: &mut swept,
        };
        // Listed before the worktrees are removed, because some branches go with them.
        let branches = repository.list_build_branches(build.id).await?;
        sweep.sweep_worktrees(&tasks).await?;
        sweep.sweep_branches(&branches).await?;
        if remove && build.state.has_ended() {
            repository.delete_backup(build.id).await?;
        }
        for task in &tasks {
            let runs = store.load_task_runs(name, task.id).await?;
            let runs: Vec<RunId> = runs.iter().map(|run| run.id).collect();
            swept.attempts += repository.count_attempts(&runs).await?;
        }
    }
    let gone = swept.things.iter().filter(|thing| thing.kept.is_none());
    swept.freed_bytes = gone.map(|thing| thing.bytes).sum();
    Ok(swept)
}

/// The sweep of one build.
struct BuildSweep<'a> {
    repository: &'a workspace::ProjectRepository,
    build: &'a BuildRow,
    remove: bool,
    /// Branches whose worktrees stay.
    stay: Vec<String>,
    swept: &'a mut SweepResult,
}

impl BuildSweep<'_> {
    fn open_build_reason(&self) -> Option<String> {
        let open = !self.build.state.has_ended();
        open.then(|| format!("build {} is not over", self.build.id))
    }

    async fn sweep_worktrees(&mut self, tasks: &[TaskRow]) -> Result<(), CliError> {
        for task in tasks {
            let place = WorkspaceKey { build: self.build.id, task: task.id };
            let Some(folder) = self.repository.find_worktree(place) else { continue };
            let bytes = size::measure_folder(&folder);
            let kept = match self.open_build_reason() {
                Some(open) => Some(open),
                None => self.sweep_worktree(place, task.moved.last_run).await?,
            };
            if kept.is_some() {
                self.stay.push(workspace::ProjectRepository::task_branch(place));
            }
            let what = format!("worktree of “{}”", words::task_name(task.id, &task.spec));
            self.swept.things.push(SweepItem { what, bytes, kept });
        }
        Ok(())
    }

    /// Removes a worktree; returns the reason if it stays.
    async fn sweep_worktree(
        &self,
        place: WorkspaceKey,
        run: Option<RunId>,
    ) -> Result<Option<String>, CliError> {
        let run = run.unwrap_or_default();
        // A worktree that cannot be opened is left for a person to inspect.
        let opened = match Workspace::open(self.repository, place, &[]).await {
            Ok(opened) => opened,
            Err(fault) => return Ok(Some(words::plain_line(&fault.message))),
        };
        let needed = if self.remove {
            match opened.remove_worktree(run).await? {
                RemovalOutcome::Gone => None,
                RemovalOutcome::Kept(why) => Some(why),
            }
        } else {
            opened.find_keep_reason(run).await?
        };
        Ok(needed.map(|why| match why {
            WorktreeKeepReason::InPlace => "it is your own".to_owned(),
            WorktreeKeepReason::Quarantined(why) => words::plain_line(&why),
            WorktreeKeepReason::Unsaved(1) => "1 change in it is saved nowhere else".to_owned(),
            WorktreeKeepReason::Unsaved(count) => {
                format!("{count} changes in it are saved nowhere else")
            }
        }))
    }

    async fn sweep_branches(&mut self, branches: &[LeftoverBranch]) -> Result<(), CliError> {
        for leftover in branches {
            let mut kept = self.open_build_reason().or_else(|| self.branch_keep_reason(leftover));
            if kept.is_none() && self.remove {
                let gone = self.repository.delete_branch(self.build.id, leftover).await?;
                kept = (!gone).then(|| "it moved just now".to_owned());
            }
            let name = leftover.name.strip_prefix(HEADS).unwrap_or(&leftover.name);
            self.swept.things.push(SweepItem { what: format!("branch {name}"), bytes: 0, kept });
        }
        Ok(())
    }

    fn branch_keep_reason(&self, leftover: &LeftoverBranch) -> Option<String> {
        match &leftover.branch {
            _ if self.stay.contains(&leftover.name) => Some("its worktree stays".to_owned()),
            BranchStatus::Free => None,
            BranchStatus::Needed(count) => {
                let commits = words::render_count(*count, "commit is", "commits are");
                Some(format!(
                    "{commits} in none of your branches: `unstuck land {}`",
                    self.build.id
                ))
            }
            BranchStatus::InUse(by) => {
                let by = words::plain_line(&by.to_string_lossy());
                Some(format!("it is checked out in {by}"))
            }
        }
    }
}

//! Determines the process that performs a task: the journal records the work that was begun, and a lock
//! shows which process lives.

use unstuck_core::engine::{BuildState, PauseCause};
use unstuck_runner::TaskLocks;
use unstuck_store::Holder;
use unstuck_store::tables::{BuildRow, TaskRow};

use super::{jobs, mcp};
use crate::project::LocalProject;
use crate::render::stand::TaskPerformer;

/// The processes of a project.
pub(super) struct Performers {
    turns: TaskLocks,
    is_held: bool,
    /// The process that runs the scheduled jobs.
    pub(super) watcher: Option<Holder>,
    /// The jobs that the settings define.
    pub(super) jobs: Option<jobs::ConfiguredJobs>,
}

impl Performers {
    pub(super) fn inspect(project: &LocalProject, is_held: bool) -> Self {
        Self {
            turns: TaskLocks::new(project.runs_folder()),
            is_held,
            watcher: jobs::current_watcher(project),
            jobs: jobs::ConfiguredJobs::from_project(project).ok(),
        }
    }

    /// Returns whether a process performs a build.
    pub(super) fn is_performed(&self, build: &BuildRow, rows: &[TaskRow]) -> bool {
        self.is_held
            && (is_reported_only(build, rows.first()) || self.turns.is_build_locked(build.id))
    }

    /// Returns the performer of a task.
    pub(super) fn performer_of(&self, build: &BuildRow, row: &TaskRow) -> TaskPerformer {
        let at_work = if build.standing {
            self.runs_job(row) || self.turns.is_task_locked(row.id)
        } else {
            is_reported_only(build, Some(row)) || self.turns.is_build_locked(build.id)
        };
        match build.state {
            BuildState::Paused { cause: PauseCause::Person } => TaskPerformer::Paused,
            _ if self.is_held && at_work => TaskPerformer::AtWork,
            _ if build.standing && !self.is_defined(row) => TaskPerformer::NextExec,
            _ => TaskPerformer::NextStart,
        }
    }

    /// Returns whether a process runs a job at its times.
    fn runs_job(&self, row: &TaskRow) -> bool {
        self.watcher.is_some() && self.is_defined(row)
    }

    fn is_defined(&self, row: &TaskRow) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.find(&row.spec.name).is_ok())
    }
}

/// Returns whether the work is done by another runtime and only reported here.
fn is_reported_only(build: &BuildRow, row: Option<&TaskRow>) -> bool {
    build.session.is_some() || row.is_some_and(|row| mcp::is_client_task(&row.spec))
}

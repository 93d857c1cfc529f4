//! Determines the process that performs a task: the journal records the work that was begun, and a lock
//! shows which process lives.

use unstuck_core::engine::{BuildState, PauseCause};
use unstuck_runner::Turns;
use unstuck_store::Holder;
use unstuck_store::tables::{BuildRow, TaskRow};

use super::{jobs, mcp};
use crate::project::Project;
use crate::render::stand::Performer;

/// The processes of a project.
pub(super) struct Performers {
    turns: Turns,
    is_held: bool,
    /// The process that runs the scheduled jobs.
    pub(super) watcher: Option<Holder>,
    /// The jobs that the settings define.
    pub(super) jobs: Option<jobs::Defined>,
}

impl Performers {
    pub(super) fn look(project: &Project, is_held: bool) -> Self {
        Self {
            turns: Turns::new(project.runs()),
            is_held,
            watcher: jobs::current_watcher(project),
            jobs: jobs::Defined::read(project).ok(),
        }
    }

    /// Returns whether a process performs a build.
    pub(super) fn perform(&self, build: &BuildRow, rows: &[TaskRow]) -> bool {
        self.is_held && (is_told_about(build, rows.first()) || self.turns.is_build_taken(build.id))
    }

    /// Returns the performer of a task.
    pub(super) fn of(&self, build: &BuildRow, row: &TaskRow) -> Performer {
        let at_work = if build.standing {
            self.runs_job(row) || self.turns.is_taken(row.id)
        } else {
            is_told_about(build, Some(row)) || self.turns.is_build_taken(build.id)
        };
        match build.state {
            BuildState::Paused { cause: PauseCause::Person } => Performer::Paused,
            _ if self.is_held && at_work => Performer::AtWork,
            _ if build.standing && !self.is_defined(row) => Performer::NextExec,
            _ => Performer::NextStart,
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
fn is_told_about(build: &BuildRow, row: Option<&TaskRow>) -> bool {
    build.session.is_some() || row.is_some_and(|row| mcp::is_of_a_client(&row.spec))
}

//! Describes the state of all jobs, for every user interface.

use std::collections::BTreeMap;

use unstuck_runner::TaskLocks;
use unstuck_server::JobOverview;
use unstuck_store::Store;
use unstuck_store::tables::{QuestionStatus, TaskRow};

use super::defined::{ConfiguredJobs, find_job_rows, job_schedule};
use super::say::{JobProcesses, JobStateText, render_job_state};
use super::watcher;
use crate::error::CliError;
use crate::project::{self, LocalProject};
use crate::render::stand::TaskPerformer;

/// Returns all jobs of the settings, in their order. Without a store nothing was ever run.
pub(crate) async fn list_job_states(
    project: &LocalProject,
    store: Option<&dyn Store>,
) -> Result<Vec<JobOverview>, CliError> {
    let defined = ConfiguredJobs::from_project(project)?;
    let held = project::current_holder(project).await.is_some();
    let turns = TaskLocks::new(project.runs_folder());
    let watched = watcher::find_watcher(project).is_some();
    // A job may be run by hand beside the watcher.
    let present = |row: Option<&TaskRow>| {
        let at_work = watched || row.is_some_and(|row| turns.is_task_locked(row.id));
        let performer =
            if held && at_work { TaskPerformer::AtWork } else { TaskPerformer::NextStart };
        JobProcesses { performer, watched }
    };
    let (mut rows, questions) = match store {
        Some(store) => {
            let rows = find_job_rows(store, project.name()).await?;
            (rows, store.load_questions(project.name(), Some(QuestionStatus::Pending)).await?)
        }
        None => (BTreeMap::new(), Vec::new()),
    };
    let now = project::now();
    let told = defined.all().iter().map(|job| {
        let row = rows.remove(job.name.as_str());
        let JobStateText { stand, detail, next } =
            render_job_state(Some(job), row.as_ref(), present(row.as_ref()), &questions, now);
        JobOverview {
            name: job.name.as_str().to_owned(),
            title: row.as_ref().map_or_else(
                || job.name.as_str().replace(['-', '_'], " "),
                |row| row.spec.title.clone(),
            ),
            standing: stand,
            detail,
            schedule: job_schedule(job).map(|schedule| schedule.as_written().to_owned()),
            next,
            row,
        }
    });
    Ok(told.collect())
}

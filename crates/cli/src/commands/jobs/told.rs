//! Describes the state of all jobs, for every user interface.

use std::collections::BTreeMap;

use unstuck_runner::Turns;
use unstuck_server::JobStanding;
use unstuck_store::Store;
use unstuck_store::tables::{QuestionStatus, TaskRow};

use super::defined::{Defined, find_rows, schedule};
use super::say::{Present, Standing, standing};
use super::watcher;
use crate::error::Error;
use crate::project::{self, Project};
use crate::render::stand::Performer;

/// Returns all jobs of the settings, in their order. Without a store nothing was ever run.
pub(crate) async fn told(
    project: &Project,
    store: Option<&dyn Store>,
) -> Result<Vec<JobStanding>, Error> {
    let defined = Defined::read(project)?;
    let held = project::current_holder(project).await.is_some();
    let turns = Turns::new(project.runs());
    let watched = watcher::current(project).is_some();
    // A job may be run by hand beside the watcher.
    let present = |row: Option<&TaskRow>| {
        let at_work = watched || row.is_some_and(|row| turns.is_taken(row.id));
        let performer = if held && at_work { Performer::AtWork } else { Performer::NextStart };
        Present { performer, watched }
    };
    let (mut rows, questions) = match store {
        Some(store) => {
            let rows = find_rows(store, project.name()).await?;
            (rows, store.questions(project.name(), Some(QuestionStatus::Pending)).await?)
        }
        None => (BTreeMap::new(), Vec::new()),
    };
    let now = project::now();
    let told = defined.all().iter().map(|job| {
        let row = rows.remove(job.name.as_str());
        let Standing { stand, detail, next } =
            standing(Some(job), row.as_ref(), present(row.as_ref()), &questions, now);
        JobStanding {
            name: job.name.as_str().to_owned(),
            title: row.as_ref().map_or_else(
                || job.name.as_str().replace(['-', '_'], " "),
                |row| row.spec.title.clone(),
            ),
            standing: stand,
            detail,
            schedule: schedule(job).map(|schedule| schedule.written().to_owned()),
            next,
            row,
        }
    });
    Ok(told.collect())
}

//! The jobs as people think of them, for every surface.

use std::collections::BTreeMap;

use unstuck_server::JobStanding;
use unstuck_store::Store;
use unstuck_store::tables::QuestionStatus;

use super::defined::{Defined, find_rows, schedule};
use super::say::{Present, Standing, standing};
use super::watcher;
use crate::error::Error;
use crate::project::{self, Project};

/// All jobs that the settings define, in their order. Without a store nothing was ever run.
pub(crate) async fn told(
    project: &Project,
    store: Option<&dyn Store>,
) -> Result<Vec<JobStanding>, Error> {
    let defined = Defined::read(project)?;
    let held = project::current_holder(project).await.is_some();
    let present = Present { held, watched: watcher::current(project).is_some() };
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
            standing(Some(job), row.as_ref(), present, &questions, now);
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

//! The jobs as people think of them, for every surface.

use unstuck_server::{JobStanding, Stand};
use unstuck_store::Store;

use super::defined::{Defined, find_rows, schedule};
use super::say::{self, Present, Standing, standing};
use super::watcher;
use crate::error::Error;
use crate::project::{self, Project};

/// All jobs that the settings define, in their order.
pub(crate) async fn told(project: &Project, store: &dyn Store) -> Result<Vec<JobStanding>, Error> {
    let defined = Defined::read(project)?;
    let held = project::current_holder(project).await.is_some();
    let present = Present { held, watched: watcher::current(project).is_some() };
    let (mut rows, now) = (find_rows(store, project.name()).await?, project::now());
    let told = defined.all().iter().map(|job| {
        let row = rows.remove(job.name.as_str());
        let Standing { stand, detail, next } = standing(Some(job), row.as_ref(), present, now);
        JobStanding {
            name: job.name.as_str().to_owned(),
            title: row.as_ref().map_or_else(
                || job.name.as_str().replace(['-', '_'], " "),
                |row| row.spec.title.clone(),
            ),
            standing: match stand {
                say::Stand::Running => Stand::Running,
                say::Stand::Idle => Stand::Idle,
                say::Stand::NeedsAttention => Stand::NeedsAttention,
                say::Stand::Stopped => Stand::Stopped,
            },
            detail,
            schedule: schedule(job).map(|schedule| schedule.written().to_owned()),
            next,
            row,
        }
    });
    Ok(told.collect())
}

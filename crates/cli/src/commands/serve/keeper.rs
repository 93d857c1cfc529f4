//! Whoever keeps one project that is served: takes it, or a place beside whoever has it, and goes on
//! with its builds and its jobs.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_server::Site;
use unstuck_store::Store;

use super::desk::ServedDesk;
use crate::commands::jobs::{Voice, Watch};
use crate::commands::run::{Crew, Others, Performing};
use crate::error::{Error, JobsError};
use crate::project::{Heard, Project, Seat};

/// Keeps one project.
pub(super) struct Keeper {
    pub(super) project: Project,
    pub(super) store: Arc<dyn Store>,
    pub(super) desk: Arc<ServedDesk>,
}

impl Keeper {
    /// Goes on until `stop`, whoever holds the project.
    pub(super) async fn keep(self, site: Arc<Site>, stop: CancellationToken) -> Result<(), Error> {
        let mut watch = match Watch::open(&self.project, &self.store, "serve", Voice::Silent).await
        {
            Ok(watch) => Some(watch),
            // Somebody else runs the jobs, and is welcome to.
            Err(Error::Jobs(JobsError::Watched { .. })) => None,
            Err(error) => return Err(error),
        };
        loop {
            let mut seat = Seat::take(&self.project, &self.store, "serve").await?;
            let ended = tokio::select! {
                () = stop.cancelled() => None,
                ended = self.sit(&mut seat, watch.as_mut(), &site) => Some(ended),
            };
            self.desk.seat(None);
            match ended {
                None => {
                    seat.leave().await?;
                    if let Some(watch) = watch {
                        watch.end().await;
                    }
                    return Ok(());
                }
                // Whoever held the project is gone, and what we do goes on.
                Some(Ok(())) => {}
                Some(Err(error)) if seat.is_left_by(&error) => {}
                Some(Err(error)) => return Err(error),
            }
        }
    }

    /// Comes back when whoever holds the project is gone.
    async fn sit(
        &self,
        seat: &mut Seat,
        watch: Option<&mut Watch<'_>>,
        site: &Site,
    ) -> Result<(), Error> {
        self.desk.seat(Some(seat.post().clone()));
        // What another process writes is only known to us by being told.
        let heard = || site.nudge(self.project.name());
        heard();
        let _performing = self.perform(seat).await?;
        if let Some(watch) = watch {
            return watch.watch_from(seat, &heard).await;
        }
        loop {
            match seat.hear().await? {
                Heard::HolderGone => return Ok(()),
                Heard::Notice(_) => heard(),
            }
        }
    }

    /// Goes on with the builds that have not ended, unless somebody else does.
    async fn perform(&self, seat: &Seat) -> Result<Option<Performing>, Error> {
        let rows = self.store.builds(self.project.name()).await?;
        let open = rows.iter().filter(|row| row.is_performed_here() && !row.state.has_ended());
        let open: Vec<_> = open.map(|row| row.id).collect();
        if open.is_empty() {
            return Ok(None);
        }
        let crew = Crew::gather(&self.project, (*self.project.settings()?).clone()).await?;
        crew.perform(seat.post(), &self.store, &open, Others::LeftAlone).await.map(Some)
    }
}

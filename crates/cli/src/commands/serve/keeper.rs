//! Whoever keeps one project that is served: takes it, or a place beside whoever has it, and goes on
//! with its builds.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_server::Site;
use unstuck_store::Store;

use super::desk::ServedDesk;
use crate::commands::run::Crew;
use crate::error::Error;
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
        loop {
            let mut seat = Seat::take(&self.project, &self.store, "serve").await?;
            let sat = tokio::select! {
                () = stop.cancelled() => None,
                sat = self.sit(&mut seat, &site) => Some(sat),
            };
            self.desk.seat(None);
            match sat {
                None => return seat.leave().await,
                // Whoever held the project is gone, and what we do goes on.
                Some(Ok(())) => {}
                Some(Err(error)) if seat.is_left_by(&error) => {}
                Some(Err(error)) => return Err(error),
            }
        }
    }

    /// Comes back when whoever holds the project is gone.
    async fn sit(&self, seat: &mut Seat, site: &Site) -> Result<(), Error> {
        self.desk.seat(Some(seat.decider()));
        let name = self.project.name();
        site.nudge(name);
        let rows = self.store.builds(name).await?;
        let open: Vec<_> = rows
            .iter()
            .filter(|row| !row.standing && !row.state.has_ended())
            .map(|row| row.id)
            .collect();
        let _performing = if open.is_empty() {
            None
        } else {
            let crew = Crew::gather(&self.project, (*self.project.settings()?).clone()).await?;
            Some(crew.perform(seat, &self.store, &open).await?)
        };
        loop {
            match seat.hear().await? {
                Heard::HolderGone => return Ok(()),
                // What another process writes is only known to us by being told.
                Heard::Notice(_) => site.nudge(name),
            }
        }
    }
}

//! Keeps a served project: takes it or connects to its holder, and continues its builds and jobs.

use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_runner::Notice;
use unstuck_server::Site;
use unstuck_store::Store;

use super::desk::{ServedDesk, told};
use crate::commands::jobs::{self, Voice, Watch};
use crate::commands::run::{Crew, Others, open_builds};
use crate::error::{Error, JobsError};
use crate::project::{Heard, Post, Project, Seat};
use crate::render;

/// First pause before a project with an error is tried again, because the error may pass; each pause is
/// twice the one before, up to [`WAIT_MAX`].
const WAIT: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_mins(1);

/// The keeper of one project.
pub(super) struct Keeper {
    pub(super) project: Project,
    pub(super) store: Arc<dyn Store>,
    pub(super) desk: Arc<ServedDesk>,
    pub(super) site: Arc<Site>,
    pub(super) stop: CancellationToken,
}

impl Keeper {
    /// Keeps the project until the server stops, across changes of the holder. An error before `begun` is
    /// returned; a later one is reported and waited out, while other projects are served.
    pub(super) async fn keep(self, begun: oneshot::Sender<()>) -> Result<(), Error> {
        let mut begun = Some(begun);
        let mut wait = WAIT;
        let mut said = String::new();
        loop {
            let Err(error) = Box::pin(self.sit_until_stopped(&mut begun)).await else {
                return Ok(());
            };
            if begun.is_some() {
                return Err(error);
            }
            let trouble = told(&error);
            if trouble != said {
                let name = self.project.name();
                // If the message cannot be written, the error is waited out all the same.
                let _ = writeln!(
                    io::stderr(),
                    "unstuck: {name} is not kept: {trouble}; it is tried again"
                );
                (wait, said) = (WAIT, trouble);
            }
            tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(WAIT_MAX),
            }
        }
    }

    async fn sit_until_stopped(
        &self,
        begun: &mut Option<oneshot::Sender<()>>,
    ) -> Result<(), Error> {
        let mut watch = self.watch().await?;
        loop {
            let mut seat = Seat::take(&self.project, &self.store, "serve").await?;
            let ended = tokio::select! {
                () = self.stop.cancelled() => None,
                ended = self.sit(&mut seat, &mut watch, begun) => Some(ended),
            };
            self.desk.stand_up();
            match ended {
                None => {
                    self.desk.performing().await.end();
                    seat.leave().await?;
                    if let Some(watch) = watch {
                        watch.end().await;
                    }
                    return Ok(());
                }
                // The holder is gone, and the work goes on.
                Some(Ok(())) => {}
                Some(Err(error)) if seat.is_left_by(&error) => {}
                Some(Err(error)) => {
                    // Other processes can take the project meanwhile; a further error on leaving adds
                    // nothing.
                    self.desk.performing().await.end();
                    let _ = seat.leave().await;
                    return Err(error);
                }
            }
        }
    }

    /// Becomes the watcher, unless another process is.
    async fn watch(&self) -> Result<Option<Watch<'_>>, Error> {
        match Watch::open(&self.project, &self.store, "serve", Voice::Silent).await {
            Ok(watch) => Ok(Some(watch)),
            Err(Error::Jobs(JobsError::Watched { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the project from a seat; returns when the holder is gone.
    async fn sit<'a>(
        &'a self,
        seat: &mut Seat,
        watch: &mut Option<Watch<'a>>,
        begun: &mut Option<oneshot::Sender<()>>,
    ) -> Result<(), Error> {
        let post = seat.post().clone();
        self.desk.sit(&post).await?;
        self.site.nudge(self.project.name());
        Box::pin(self.perform(&post)).await?;
        if let Some(begun) = begun.take() {
            // A server that is already ending does not listen.
            let _ = begun.send(());
        }
        let left = self.desk.performing().await.left();
        let heard = |heard: &Heard| {
            // Events of another process are known here only through its notices.
            self.site.nudge(self.project.name());
            if matches!(heard, Heard::Notice(Notice::Left)) {
                left.notify_one();
            }
        };
        tokio::select! {
            gone = self.hear(seat, watch, &heard) => gone,
            failed = self.take_over(&post, &left) => Err(failed),
        }
    }

    /// Runs the jobs as soon as no other process does, and handles messages.
    async fn hear<'a>(
        &'a self,
        seat: &mut Seat,
        watch: &mut Option<Watch<'a>>,
        heard: &impl Fn(&Heard),
    ) -> Result<(), Error> {
        loop {
            if let Some(watch) = watch {
                return watch.watch_from(seat, heard).await;
            }
            let mut free = pin!(jobs::watcher_gone(&self.project));
            loop {
                tokio::select! {
                    biased;
                    next = seat.hear() => match next.inspect(heard)? {
                        Heard::HolderGone => return Ok(()),
                        Heard::Notice(_) => {}
                    },
                    () = &mut free => break,
                }
            }
            *watch = self.watch().await?;
        }
    }

    /// Continues the builds of processes that are gone.
    async fn take_over(&self, post: &Post, left: &Notify) -> Error {
        loop {
            left.notified().await;
            if let Err(error) = Box::pin(self.perform(post)).await {
                return error;
            }
        }
    }

    /// Continues the builds that have not ended, unless another process performs them.
    async fn perform(&self, post: &Post) -> Result<(), Error> {
        let open = open_builds(&self.project, &self.store).await?;
        let mut performing = self.desk.performing().await;
        performing.keep(&open);
        if open.is_empty() {
            return Ok(());
        }
        let project = match self.project.read_again() {
            Ok(project) => project,
            Err(error) => {
                let name = self.project.name();
                render::note(&format!("unstuck: {name}: the old settings stay: {error}"));
                self.project.clone()
            }
        };
        let crew = Crew::gather(&project, (*project.settings()?).clone()).await?;
        crew.perform(&mut performing, post, &self.store, &open, Others::LeftAlone).await
    }
}

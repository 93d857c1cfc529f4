//! Keeps a served project: takes it or connects to its holder, and continues its builds and jobs.

use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_runner::RunnerNotice;
use unstuck_server::ServerState;
use unstuck_store::Store;

use super::project_host::{ServedProjectHost, render_error_line};
use crate::build::inspect_sandbox;
use crate::commands::builds::{BuildWorkers, OtherPerformers, load_open_builds};
use crate::commands::exec::MessageFormat;
use crate::commands::jobs::{self, JobWatcher};
use crate::error::{CliError, JobsError};
use crate::project::{self, LocalProject, ProjectConnection, ProjectMessage, ProjectSession};
use crate::render;

/// First pause before a project with an error is tried again, because the error may pass; each pause is
/// twice the one before, up to [`WAIT_MAX`].
const WAIT: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_mins(1);

pub(super) struct ProjectSupervisor {
    pub(super) project: LocalProject,
    pub(super) store: Arc<dyn Store>,
    pub(super) host: Arc<ServedProjectHost>,
    pub(super) site: Arc<ServerState>,
    pub(super) stop: CancellationToken,
}

impl ProjectSupervisor {
    /// Keeps the project until the server stops, across changes of the holder. An error before `begun` is
    /// returned; a later one is reported and waited out, while other projects are served.
    pub(super) async fn run(self, begun: oneshot::Sender<()>) -> Result<(), CliError> {
        let mut begun = Some(begun);
        let mut wait = WAIT;
        let mut said = String::new();
        loop {
            let Err(error) = Box::pin(self.run_until_stopped(&mut begun)).await else {
                return Ok(());
            };
            if begun.is_some() {
                return Err(error);
            }
            let trouble = render_error_line(&error);
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

    async fn run_until_stopped(
        &self,
        begun: &mut Option<oneshot::Sender<()>>,
    ) -> Result<(), CliError> {
        let mut watch = self.open_watcher().await?;
        let mut place = None;
        let supervise = async |session: &mut ProjectSession| {
            let ended = tokio::select! {
                () = self.stop.cancelled() => Ok(Some(())),
                ended = self.supervise_from(session, &mut watch, begun) => ended.map(|()| None),
            };
            self.host.disconnect();
            ended
        };
        let project = &self.project;
        let store = &self.store;
        let ended = project::with_session(project, store, "serve", &mut place, supervise).await;
        if ended.is_ok() {
            self.host.lock_performing().await.end_all();
            project::leave_session(place).await?;
            if let Some(watch) = watch {
                watch.end_processes().await;
            }
        } else if place.is_some() {
            // Other processes can take the project meanwhile; a further error on leaving adds nothing.
            self.host.lock_performing().await.end_all();
            let _ = project::leave_session(place).await;
        }
        ended
    }

    /// Becomes the watcher, unless another process is.
    async fn open_watcher(&self) -> Result<Option<JobWatcher<'_>>, CliError> {
        match JobWatcher::open(&self.project, &self.store, "serve", MessageFormat::Quiet).await {
            Ok(watch) => Ok(Some(watch)),
            Err(CliError::Jobs(JobsError::Watched { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps the project in a session; returns when the holder is gone.
    async fn supervise_from<'a>(
        &'a self,
        session: &mut ProjectSession,
        watch: &mut Option<JobWatcher<'a>>,
        begun: &mut Option<oneshot::Sender<()>>,
    ) -> Result<(), CliError> {
        let connection = session.connection().clone();
        self.host.connect(&connection).await?;
        self.site.wake_project_reader(self.project.name());
        Box::pin(self.perform_open_builds(&connection)).await?;
        if let Some(begun) = begun.take() {
            // A server that is already ending does not listen.
            let _ = begun.send(());
        }
        let left = self.host.lock_performing().await.left_notice();
        let heard = |heard: &ProjectMessage| {
            // Events of another process are known here only through its notices.
            self.site.wake_project_reader(self.project.name());
            if matches!(heard, ProjectMessage::Notice(RunnerNotice::Left)) {
                left.notify_one();
            }
        };
        tokio::select! {
            gone = self.handle_messages(session, watch, &heard) => gone,
            failed = self.take_over_builds(&connection, &left) => Err(failed),
        }
    }

    /// Runs the jobs as soon as no other process does, and handles messages.
    async fn handle_messages<'a>(
        &'a self,
        session: &mut ProjectSession,
        watch: &mut Option<JobWatcher<'a>>,
        heard: &impl Fn(&ProjectMessage),
    ) -> Result<(), CliError> {
        loop {
            if let Some(watch) = watch {
                return watch.watch_from(session, heard).await;
            }
            let mut free = pin!(jobs::wait_until_watcher_gone(&self.project));
            loop {
                tokio::select! {
                    biased;
                    next = session.next_message() => match next.inspect(heard)? {
                        ProjectMessage::HolderGone => return Ok(()),
                        ProjectMessage::Notice(_) => {}
                    },
                    () = &mut free => break,
                }
            }
            *watch = self.open_watcher().await?;
        }
    }

    /// Continues the builds of processes that are gone.
    async fn take_over_builds(&self, connection: &ProjectConnection, left: &Notify) -> CliError {
        loop {
            left.notified().await;
            if let Err(error) = Box::pin(self.perform_open_builds(connection)).await {
                return error;
            }
        }
    }

    /// Continues the builds that have not ended, unless another process performs them.
    async fn perform_open_builds(&self, connection: &ProjectConnection) -> Result<(), CliError> {
        let open = load_open_builds(&self.project, &self.store).await?;
        let mut performing = self.host.lock_performing().await;
        performing.release_ended(&open);
        if open.is_empty() {
            return Ok(());
        }
        let project = match self.project.reload_settings() {
            Ok(project) => project,
            Err(error) => {
                let name = self.project.name();
                render::write_note(&format!("unstuck: {name}: the old settings stay: {error}"));
                self.project.clone()
            }
        };
        let settings = project.settings()?;
        if let Some(concern) = inspect_sandbox(&settings.settings) {
            // Only the builds wait for another setting: jobs and answers go on.
            let name = self.project.name();
            let line = concern.to_line();
            render::write_note(&format!("unstuck: {name}: builds are not continued: {line}"));
            return Ok(());
        }
        let workers = BuildWorkers::create(&project, (*settings).clone()).await?;
        workers
            .perform_builds(
                &mut performing,
                connection,
                &self.store,
                &open,
                OtherPerformers::LeftAlone,
            )
            .await
    }
}

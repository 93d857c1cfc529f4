//! The place of this process in the project: it is the holder and decides, or a guest of the holder and
//! performs its own part.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_runner::control::{ControlClient, ControlServer};
use unstuck_runner::notify::NotificationSender;
use unstuck_runner::{CommandError, Runner, RunnerNotice, RunnerResult};
use unstuck_store::Store;

use super::access::{ProjectAccess, hold_or_connect};
use super::connection::ProjectConnection;
use super::folder::{LocalProject, describe_holder, project_redactor};
use super::notify::{GRACE, start_sender};
use crate::error::CliError;

/// The connection to the project together with what this process runs for it.
pub(crate) struct ProjectSession {
    connection: ProjectConnection,
    notices: broadcast::Receiver<RunnerNotice>,
    /// The parts that only the holder has.
    held: Option<HolderParts>,
}

/// The parts that only the holder has.
struct HolderParts {
    running: JoinHandle<RunnerResult>,
    sender: Option<NotificationSender>,
    server: ControlServer,
}

pub(crate) enum ProjectMessage {
    Notice(RunnerNotice),
    HolderGone,
}

impl ProjectSession {
    /// Takes the project, or connects to its holder.
    pub(crate) async fn open(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, CliError> {
        match hold_or_connect(project, store, verb, || Self::open_as_guest(project)).await? {
            ProjectAccess::Ours(runner) => {
                Self::open_as_holder(project, store, *runner, verb).await
            }
            ProjectAccess::Theirs(session) => Ok(session),
        }
    }

    async fn open_as_holder(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        runner: Runner,
        verb: &str,
    ) -> Result<Self, CliError> {
        let sender = start_sender(project, store).await?;
        let handle = runner.handle();
        let socket = project.socket_path();
        let token_key = project.open_token_key()?;
        let told = handle.clone();
        let redactor = project_redactor(project);
        let server = ControlServer::start_redacting(
            &socket,
            told,
            token_key,
            describe_holder(verb),
            redactor,
        )
        .map_err(CliError::unusable(&socket))?;
        let notices = handle.subscribe_notices();
        let running = tokio::spawn(runner.run());
        // Answers that came while there was no holder count before anything is looked up.
        handle.take_answers().await?;
        let held = Some(HolderParts { running, sender, server });
        Ok(Self { connection: ProjectConnection::Holder(handle), notices, held })
    }

    async fn open_as_guest(project: &LocalProject) -> std::io::Result<Self> {
        let (client, _) = ControlClient::connect(&project.socket_path(), None).await?;
        let notices = client.subscribe_notices().await.map_err(std::io::Error::other)?;
        Ok(Self { connection: ProjectConnection::Guest(client), notices, held: None })
    }

    /// Returns the connection, which may be cloned and outlive the session.
    pub(crate) const fn connection(&self) -> &ProjectConnection {
        &self.connection
    }

    pub(crate) async fn next_message(&mut self) -> Result<ProjectMessage, CliError> {
        let Self { connection, notices, held } = self;
        let left = async {
            match held {
                // The loop ends by itself only when the store is lost.
                Some(held) => match (&mut held.running).await {
                    Ok(Err(error)) => Err(error.into()),
                    _ => Err(CommandError::Ended.into()),
                },
                None => {
                    connection.wait_until_gone().await;
                    Ok(ProjectMessage::HolderGone)
                }
            }
        };
        tokio::select! {
            biased;
            notice = notices.recv() => Ok(ProjectMessage::Notice(notice.unwrap_or(RunnerNotice::Gap))),
            left = left => left,
        }
    }

    /// Leaves in an orderly way: the work of this process is ended, all events are on disk, and the project
    /// is released.
    pub(crate) async fn leave(self) -> Result<(), CliError> {
        self.connection.end_work().await;
        if let Some(HolderParts { running, sender, server }) = self.held {
            let ended = running.await.map_err(|_| CommandError::Ended)?;
            // Other processes need not wait for the last notifications.
            drop(server);
            if let Some(sender) = sender {
                sender.finish(GRACE).await;
            }
            ended?;
        }
        Ok(())
    }
}

/// Works in a session across changes of the holder: `work` is repeated in a new session when it returns
/// `None`, or an error that means that the holder is gone. The session is in `place` while it is open.
pub(crate) async fn with_session<T>(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    verb: &str,
    place: &mut Option<ProjectSession>,
    mut work: impl AsyncFnMut(&mut ProjectSession) -> Result<Option<T>, CliError>,
) -> Result<T, CliError> {
    loop {
        *place = None;
        let session = place.insert(ProjectSession::open(project, store, verb).await?);
        match work(session).await {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => {}
            Err(error) if session.is_holder_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) async fn leave_session(place: Option<ProjectSession>) -> Result<(), CliError> {
    match place {
        Some(session) => session.leave().await,
        None => Ok(()),
    }
}

impl Deref for ProjectSession {
    type Target = ProjectConnection;

    fn deref(&self) -> &ProjectConnection {
        &self.connection
    }
}

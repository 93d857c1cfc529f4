//! The place of this process in the project: it is the holder and decides, or a guest of the holder and
//! performs its own part.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{BuildState, Command, RecordedEvent, State, TaskStateKind};
use unstuck_runner::control::{
    ClientError, ControlClient, ControlRefusal, ControlServer, TokenKey,
};
use unstuck_runner::notify::NotificationSender;
use unstuck_runner::{
    CommandError, Decider, PerformScope, Performer, Runner, RunnerHandle, RunnerNotice,
    RunnerResult, StateQuery, StateQueryResult,
};
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::channels::{GRACE, start_sender};
use super::folder::{LocalProject, describe_holder};
use super::patience::{ProjectAccess, hold_or_connect};
use super::post::ProjectConnection;
use crate::build::project_redactor;
use crate::error::CliError;

/// The place of this process in the project.
pub(crate) struct ProjectSession {
    post: ProjectConnection,
    notices: broadcast::Receiver<RunnerNotice>,
    /// The parts that only the holder has.
    held: Option<HolderParts>,
}

/// The parts that only the holder has.
struct HolderParts {
    running: JoinHandle<RunnerResult>,
    /// Sends notifications to people.
    sender: Option<NotificationSender>,
    server: ControlServer,
}

/// A message from the project.
pub(crate) enum ProjectMessage {
    /// An event happened.
    Notice(RunnerNotice),
    /// The holder is gone.
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
            ProjectAccess::Theirs(seat) => Ok(seat),
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
        let unusable = |place: String| move |source| CliError::Folder { place, source };
        let key = project.token_key_path();
        let socket = project.socket_path();
        let token_key = TokenKey::open(&key).map_err(unusable(key.display().to_string()))?;
        let told = handle.clone();
        let redactor = project_redactor(project);
        let server = ControlServer::start_redacting(
            &socket,
            told,
            token_key,
            describe_holder(verb),
            redactor,
        )
        .map_err(unusable(socket.display().to_string()))?;
        let notices = handle.subscribe_notices();
        let running = tokio::spawn(runner.run());
        // Answers that came while there was no holder count before anything is looked up.
        handle.take_answers().await?;
        let held = Some(HolderParts { running, sender, server });
        Ok(Self { post: ProjectConnection::Holder(handle), notices, held })
    }

    async fn open_as_guest(project: &LocalProject) -> std::io::Result<Self> {
        let (client, _) = ControlClient::connect(&project.socket_path(), None).await?;
        let notices = client.subscribe_notices().await.map_err(std::io::Error::other)?;
        Ok(Self { post: ProjectConnection::Guest(client), notices, held: None })
    }

    /// Returns the connection to the decider.
    pub(crate) const fn connection(&self) -> &ProjectConnection {
        &self.post
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, CliError> {
        self.post.submit_command(command).await
    }

    /// Looks up a value in the state of the project.
    pub(crate) async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, CliError> {
        Ok(match &self.post {
            ProjectConnection::Holder(handle) => {
                handle.read_state(move |state| look.answer_from(state)).await?
            }
            ProjectConnection::Guest(client) => client.query_state(look).await?,
        })
    }

    /// Performs the effects of `scope` from now on, as soon as no other process does.
    pub(crate) async fn attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<(), CliError> {
        self.post.attach_performer(scope, world).await
    }

    /// Performs the effects of `scope` without waiting; returns `false` if another process does.
    pub(crate) async fn try_attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<bool, CliError> {
        self.post.try_attach_performer(scope, world).await
    }

    /// Returns the decider of commands.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        self.post.decider()
    }

    /// Returns the state of a build and whether one of its tasks is at work. The holder reads both at one
    /// moment from memory, before the tables have them.
    pub(crate) async fn build_state(
        &self,
        store: &Arc<dyn Store>,
        project: &str,
        row: &BuildRow,
    ) -> Result<(BuildState, bool), CliError> {
        let id = row.id;
        let works =
            |standing| matches!(standing, TaskStateKind::Running | TaskStateKind::Reconciling);
        match &self.post {
            ProjectConnection::Holder(handle) => {
                let look = move |state: &State| {
                    let build = state.build(id)?;
                    let at_work = build.count(TaskStateKind::Running)
                        + build.count(TaskStateKind::Reconciling)
                        > 0;
                    Some((build.state, at_work))
                };
                Ok(handle.read_state(look).await?.unwrap_or((row.state, false)))
            }
            ProjectConnection::Guest(_) => {
                let tasks = store.load_build_tasks(project, id).await?;
                Ok((row.state, tasks.iter().any(|task| works(task.moved.state.kind()))))
            }
        }
    }

    /// Returns the handle of the loop if this process decides, and so knows the state before the disk does.
    pub(crate) const fn holder_handle(&self) -> Option<&RunnerHandle> {
        match &self.post {
            ProjectConnection::Holder(handle) => Some(handle),
            ProjectConnection::Guest(_) => None,
        }
    }

    /// Waits for the next message.
    pub(crate) async fn next_message(&mut self) -> Result<ProjectMessage, CliError> {
        let Self { post, notices, held } = self;
        let left = async {
            match held {
                // The loop ends by itself only when the store is lost.
                Some(held) => match (&mut held.running).await {
                    Ok(Err(error)) => Err(error.into()),
                    _ => Err(CommandError::Ended.into()),
                },
                None => {
                    post.wait_until_gone().await;
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

    /// Subscribes to the notices from here on, in addition to the caller of `hear`.
    pub(crate) async fn subscribe_notices(
        &self,
    ) -> Result<broadcast::Receiver<RunnerNotice>, CliError> {
        Ok(match &self.post {
            ProjectConnection::Holder(handle) => handle.subscribe_notices(),
            ProjectConnection::Guest(client) => client.subscribe_notices().await?,
        })
    }

    /// Returns when the holder, if it is another process, is gone.
    pub(crate) async fn wait_until_gone(&self) {
        self.post.wait_until_gone().await;
    }

    /// Returns whether an error means that the holder, another process, is ending or gone.
    pub(crate) const fn is_holder_gone(&self, error: &CliError) -> bool {
        let gone = matches!(
            error,
            CliError::Refused(
                ClientError::Gone | ClientError::Refused { why: ControlRefusal::Ended, .. }
            )
        );
        gone && matches!(self.post, ProjectConnection::Guest(_))
    }

    /// Leaves in an orderly way: the work of this process is ended, all events are on disk, and the project
    /// is released.
    pub(crate) async fn leave(self) -> Result<(), CliError> {
        self.post.leave().await;
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

//! Sends commands to be decided by the holder of the project, or decides them here if there is none.

use std::sync::Arc;

use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, RecordedEvent};
use unstuck_runner::control::{ClientError, ControlClient, ControlRefusal};
use unstuck_runner::{CommandError, RunnerHandle, RunnerResult};
use unstuck_store::{Holder, Store};

use super::folder::LocalProject;
use super::patience::{ProjectAccess, hold_or_connect};
use crate::error::CliError;

/// Sends a command and returns once it is decided and durable. Without a holder its effects are not
/// performed; the next holder performs them.
pub(crate) async fn submit_command(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    verb: &str,
    command: Command,
) -> Result<Vec<RecordedEvent>, CliError> {
    let line = CommandConnection::open(project, store, verb).await?;
    let decided = line.submit_command(command).await;
    line.close().await?;
    decided
}

/// A connection for several commands, one after the other.
pub(crate) enum CommandConnection {
    /// A loop of this process, which holds the project for a moment and performs no effects.
    Own {
        /// The handle of the loop.
        handle: RunnerHandle,
        /// The task of the loop.
        running: JoinHandle<RunnerResult>,
    },
    /// A connection to the holder.
    Theirs(ControlClient),
}

impl CommandConnection {
    /// Connects to the holder, or takes the project if there is none.
    pub(crate) async fn open(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, CliError> {
        let join = async || {
            ControlClient::connect(&project.socket_path(), None).await.map(|(client, _)| client)
        };
        Ok(match hold_or_connect(project, store, verb, join).await? {
            ProjectAccess::Ours(runner) => {
                Self::Own { handle: runner.handle(), running: tokio::spawn(runner.run()) }
            }
            ProjectAccess::Theirs(client) => Self::Theirs(client),
        })
    }

    /// Returns whether another process holds the project and performs the effects.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self, Self::Theirs(_))
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, CliError> {
        match self {
            Self::Own { handle, .. } => {
                let decided = handle.submit_command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Theirs(client) => Ok(client.submit_command(command).await?),
        }
    }

    /// Releases the project, if this process holds it.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        if let Self::Own { handle, running } = self {
            handle.shut_down(false).await;
            running.await.map_err(|_| CommandError::Ended)??;
        }
        Ok(())
    }
}

/// Tells the holder that there is an answer, and returns whether it was reached. Without a holder, or while
/// it is ending, the next holder finds the answer, because the answer itself is in the store.
pub(crate) async fn take_answers(project: &LocalProject) -> Result<bool, CliError> {
    let Ok((client, _)) = ControlClient::connect(&project.socket_path(), None).await else {
        return Ok(false);
    };
    match client.take_answers().await {
        Ok(()) => Ok(true),
        Err(
            ClientError::Gone
            | ClientError::Refused { why: ControlRefusal::Store | ControlRefusal::Ended, .. },
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the holder, if it accepts a connection.
pub(crate) async fn current_holder(project: &LocalProject) -> Option<Holder> {
    ControlClient::connect(&project.socket_path(), None).await.ok().map(|(_, holder)| holder)
}

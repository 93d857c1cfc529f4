//! Sends commands to be decided by the holder of the project, or decides them here if there is none.

use std::sync::Arc;

use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::{Client, ClientError, Refusal};
use unstuck_runner::{CommandError, Ended, Handle};
use unstuck_store::{Holder, Store};

use super::folder::Project;
use super::patience::{Found, take_or_join};
use crate::error::Error;

/// Sends a command and returns once it is decided and durable. Without a holder its effects are not
/// performed; the next holder performs them.
pub(crate) async fn send(
    project: &Project,
    store: &Arc<dyn Store>,
    verb: &str,
    command: Command,
) -> Result<Vec<Recorded>, Error> {
    let line = Line::open(project, store, verb).await?;
    let decided = line.command(command).await;
    line.close().await?;
    decided
}

/// A connection for several commands, one after the other.
pub(crate) enum Line {
    /// A loop of this process, which holds the project for a moment and performs no effects.
    Own {
        /// The handle of the loop.
        handle: Handle,
        /// The task of the loop.
        running: JoinHandle<Ended>,
    },
    /// A connection to the holder.
    Theirs(Client),
}

impl Line {
    /// Connects to the holder, or takes the project if there is none.
    pub(crate) async fn open(
        project: &Project,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, Error> {
        let join =
            async || Client::connect(&project.socket(), None).await.map(|(client, _)| client);
        Ok(match take_or_join(project, store, verb, join).await? {
            Found::Ours(runner) => {
                Self::Own { handle: runner.handle(), running: tokio::spawn(runner.run()) }
            }
            Found::Theirs(client) => Self::Theirs(client),
        })
    }

    /// Returns whether another process holds the project and performs the effects.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self, Self::Theirs(_))
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        match self {
            Self::Own { handle, .. } => {
                let decided = handle.command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Theirs(client) => Ok(client.command(command).await?),
        }
    }

    /// Releases the project, if this process holds it.
    pub(crate) async fn close(self) -> Result<(), Error> {
        if let Self::Own { handle, running } = self {
            handle.shut_down(false).await;
            running.await.map_err(|_| CommandError::Ended)??;
        }
        Ok(())
    }
}

/// Tells the holder that there is an answer, and returns whether it was reached. Without a holder, or while
/// it is ending, the next holder finds the answer, because the answer itself is in the store.
pub(crate) async fn take_answers(project: &Project) -> Result<bool, Error> {
    let Ok((client, _)) = Client::connect(&project.socket(), None).await else { return Ok(false) };
    match client.take_answers().await {
        Ok(()) => Ok(true),
        Err(
            ClientError::Gone | ClientError::Refused { why: Refusal::Store | Refusal::Ended, .. },
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the holder, if it accepts a connection.
pub(crate) async fn current_holder(project: &Project) -> Option<Holder> {
    Client::connect(&project.socket(), None).await.ok().map(|(_, holder)| holder)
}

//! Having commands decided: by whoever holds the project, or by ourselves where nobody does.

use std::sync::Arc;

use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::{Client, ClientError, Refusal};
use unstuck_runner::{CommandError, Ended, Handle};
use unstuck_store::{Holder, Store};

use super::folder::Project;
use super::patience::{Found, take_or_join};
use crate::error::Error;

/// Has a command decided and written down. Where nobody holds the project nothing is performed:
/// whoever takes it up next does that.
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

/// A way to have several commands decided, one after the other.
pub(crate) enum Line {
    /// Nobody held the project: we do, for a moment, and perform nothing.
    Own {
        /// To the loop.
        handle: Handle,
        /// The loop.
        running: JoinHandle<Ended>,
    },
    /// To whoever holds it.
    Theirs(Client),
}

impl Line {
    /// Finds whoever decides about the project.
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

    /// Whether somebody is at work who acts on what is decided.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self, Self::Theirs(_))
    }

    /// Has a command decided; returns when that is on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        match self {
            Self::Own { handle, .. } => {
                let decided = handle.command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Theirs(client) => Ok(client.command(command).await?),
        }
    }

    /// Lets go of the project, if we had it.
    pub(crate) async fn close(self) -> Result<(), Error> {
        if let Self::Own { handle, running } = self {
            handle.shut_down(false).await;
            running.await.map_err(|_| CommandError::Ended)??;
        }
        Ok(())
    }
}

/// Tells whoever holds the project that there is an answer. Where nobody does, or they are ending,
/// the next one who takes it up finds it: the answer itself is in the store.
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

/// Who holds the project and can be talked to.
pub(crate) async fn current_holder(project: &Project) -> Option<Holder> {
    Client::connect(&project.socket(), None).await.ok().map(|(_, holder)| holder)
}

//! Having commands decided: by whoever holds the project, or by ourselves where nobody does.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::{Client, ClientError, Refusal};
use unstuck_runner::{CommandError, Ended, Handle, Runner};
use unstuck_store::{Holder, Store, StoreError};

use super::folder::Project;
use crate::error::Error;

/// How often it is tried to reach a holder that is just coming or going.
const TRIES: u32 = 40;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

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
        let mut tries = TRIES;
        loop {
            let holder = match Runner::open(project.setup(store, verb)?).await {
                Ok(runner) => {
                    let handle = runner.handle();
                    return Ok(Self::Own { handle, running: tokio::spawn(runner.run()) });
                }
                Err(StoreError::Held(holder)) => holder,
                Err(error) => return Err(error.into()),
            };
            tries -= 1;
            match Client::connect(&project.socket(), None).await {
                Ok((client, _)) => return Ok(Self::Theirs(client)),
                Err(source) if tries == 0 || source.kind() == io::ErrorKind::TimedOut => {
                    return Err(Error::NoAnswer { holder, source });
                }
                // It is just coming or going.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
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

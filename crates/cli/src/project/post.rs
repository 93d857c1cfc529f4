//! A cloneable connection to the decider of the project.

use std::future::pending;
use std::sync::Arc;

use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::Client;
use unstuck_runner::{Decider, Handle, Scope, World};

use crate::error::Error;

/// The connection to the decider: this process, or the holder. Clones share it.
#[derive(Clone)]
pub(crate) enum Post {
    /// A handle of the loop: this process holds the project.
    Holder(Handle),
    /// A connection to the holder, another process.
    Guest(Client),
}

impl Post {
    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        match self {
            Self::Holder(handle) => {
                let decided = handle.command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Guest(client) => Ok(client.command(command).await?),
        }
    }

    /// Performs the effects of `scope` from now on, as soon as no other process does.
    pub(crate) async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), Error> {
        match self {
            Self::Holder(handle) => {
                handle.attach(scope, world).await?;
            }
            Self::Guest(client) => client.attach(scope, world).await?,
        }
        Ok(())
    }

    /// Performs the effects of `scope` without waiting; returns `false` if another process does.
    pub(crate) async fn try_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
    ) -> Result<bool, Error> {
        match self {
            Self::Holder(handle) => Ok(handle.try_attach(scope, world).await?.is_some()),
            Self::Guest(client) => Ok(client.try_attach(scope, world).await?),
        }
    }

    /// Returns the decider of commands.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        match self {
            Self::Holder(handle) => Arc::new(handle.clone()),
            Self::Guest(client) => Arc::new(client.clone()),
        }
    }

    /// Returns when the holder, if it is another process, is gone.
    pub(super) async fn gone(&self) {
        match self {
            Self::Holder(_) => pending().await,
            Self::Guest(client) => client.gone().await,
        }
    }

    /// Ends the work that this process has begun.
    pub(super) async fn leave(self) {
        match self {
            Self::Holder(handle) => handle.shut_down(false).await,
            Self::Guest(client) => {
                // A holder that is gone needs no message.
                let _ = client.leave().await;
            }
        }
    }
}

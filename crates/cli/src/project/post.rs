//! What can be done from where we sit, by everybody who knows the place.

use std::future::pending;
use std::sync::Arc;

use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::Client;
use unstuck_runner::{Decider, Handle, Scope, World};

use crate::error::Error;

/// The way to whoever decides: ourselves, or the process that holds the project. Clones lead to the
/// same one.
#[derive(Clone)]
pub(crate) enum Post {
    /// We hold the project.
    Holder(Handle),
    /// Somebody else does.
    Guest(Client),
}

impl Post {
    /// Has a command decided; returns when that is on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        match self {
            Self::Holder(handle) => {
                let decided = handle.command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Guest(client) => Ok(client.command(command).await?),
        }
    }

    /// Performs the effects of `scope` from now on, as soon as nobody else does.
    pub(crate) async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), Error> {
        match self {
            Self::Holder(handle) => {
                handle.attach(scope, world).await?;
            }
            Self::Guest(client) => client.attach(scope, world).await?,
        }
        Ok(())
    }

    /// The same without waiting: whether nobody else performs it.
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

    /// Whoever decides.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        match self {
            Self::Holder(handle) => Arc::new(handle.clone()),
            Self::Guest(client) => Arc::new(client.clone()),
        }
    }

    /// Comes back when whoever held the project beside us is gone.
    pub(super) async fn gone(&self) {
        match self {
            Self::Holder(_) => pending().await,
            Self::Guest(client) => client.gone().await,
        }
    }

    /// Ends what we have begun.
    pub(super) async fn leave(self) {
        match self {
            Self::Holder(handle) => handle.shut_down(false).await,
            Self::Guest(client) => {
                // A holder that is gone finds out by itself.
                let _ = client.leave().await;
            }
        }
    }
}

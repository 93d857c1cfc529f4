//! A cloneable connection to the decider of the project.

use std::future::pending;
use std::sync::Arc;

use unstuck_core::engine::{Command, RecordedEvent};
use unstuck_runner::control::ControlClient;
use unstuck_runner::{Decider, PerformScope, Performer, RunnerHandle};

use crate::error::CliError;

/// The connection to the decider: this process, or the holder. Clones share it.
#[derive(Clone)]
pub(crate) enum ProjectConnection {
    /// A handle of the loop: this process holds the project.
    Holder(RunnerHandle),
    /// A connection to the holder, another process.
    Guest(ControlClient),
}

impl ProjectConnection {
    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, CliError> {
        match self {
            Self::Holder(handle) => {
                let decided = handle.submit_command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Guest(client) => Ok(client.submit_command(command).await?),
        }
    }

    /// Performs the effects of `scope` from now on, as soon as no other process does.
    pub(crate) async fn attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<(), CliError> {
        match self {
            Self::Holder(handle) => {
                handle.attach_performer(scope, world).await?;
            }
            Self::Guest(client) => client.attach_performer(scope, world).await?,
        }
        Ok(())
    }

    /// Performs the effects of `scope` without waiting; returns `false` if another process does.
    pub(crate) async fn try_attach_performer(
        &self,
        scope: PerformScope,
        world: Arc<dyn Performer>,
    ) -> Result<bool, CliError> {
        match self {
            Self::Holder(handle) => Ok(handle.try_attach_performer(scope, world).await?.is_some()),
            Self::Guest(client) => Ok(client.try_attach_performer(scope, world).await?),
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
    pub(super) async fn wait_until_gone(&self) {
        match self {
            Self::Holder(_) => pending().await,
            Self::Guest(client) => client.wait_until_gone().await,
        }
    }

    /// Ends the work that this process has begun.
    pub(super) async fn leave(self) {
        match self {
            Self::Holder(handle) => handle.shut_down(false).await,
            Self::Guest(client) => {
                // A holder that is gone needs no message.
                let _ = client.detach_all().await;
            }
        }
    }
}

//! Having a command decided: by whoever holds the project, or by ourselves where nobody does.

use std::sync::Arc;

use unstuck_core::engine::{Command, Recorded};
use unstuck_runner::control::{Client, ClientError, Refusal};
use unstuck_runner::{CommandError, Runner};
use unstuck_store::{Holder, Store, StoreError};

use super::folder::Project;
use crate::error::Error;

/// Has a command decided and written down. Where nobody holds the project nothing is performed:
/// whoever takes it up next does that.
pub(crate) async fn send(
    project: &Project,
    store: &Arc<dyn Store>,
    verb: &str,
    command: Command,
) -> Result<Vec<Recorded>, Error> {
    match Runner::open(project.setup(store, verb)?).await {
        Ok(runner) => {
            let handle = runner.handle();
            let running = tokio::spawn(runner.run());
            let decided = handle.command(command).await;
            handle.shut_down(false).await;
            running.await.map_err(|_| CommandError::Ended)??;
            Ok(decided?.events.iter().map(|recorded| (**recorded).clone()).collect())
        }
        Err(StoreError::Held(holder)) => {
            let connected = Client::connect(&project.socket(), None).await;
            let (client, _) = connected.map_err(|source| Error::NoAnswer { holder, source })?;
            Ok(client.command(command).await?)
        }
        Err(error) => Err(error.into()),
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

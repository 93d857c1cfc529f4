//! Calls inside a run: the holder decides, and the run's token identifies the caller.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use unstuck_core::engine::{Command, Effect, EffectId, Recorded};
use unstuck_core::fault::Code;
use unstuck_runner::control::{Client, ClientError, Refusal};

use super::desk::No;
use crate::error::Error;
use crate::project::project_of_socket;

/// Maximum time to wait for the next holder when one ends, and the interval of the retries.
const HANDOVER_MAX: Duration = Duration::from_secs(10);
const HANDOVER_PAUSE: Duration = Duration::from_millis(50);

/// The run around this process.
pub(super) struct Run {
    socket: PathBuf,
    token: String,
    client: Option<Client>,
}

impl Run {
    pub(super) const fn new(socket: PathBuf, token: String) -> Self {
        Self { socket, token, client: None }
    }

    /// Returns the root of the project.
    pub(super) fn root(&self) -> Option<&Path> {
        project_of_socket(&self.socket)
    }

    pub(super) async fn effect(&mut self) -> Result<Effect, No> {
        self.client().await?.belongs().cloned().ok_or_else(over)
    }

    pub(super) async fn command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<Recorded>, No> {
        let patience = Instant::now() + HANDOVER_MAX;
        loop {
            let effect = self.effect().await?.id;
            match self.client().await?.command(command(effect)).await {
                Ok(events) => return Ok(events),
                Err(ClientError::Gone | ClientError::Refused { why: Refusal::Ended, .. }) => {
                    // The next holder knows the token of the run too.
                    self.client = None;
                    if Instant::now() >= patience {
                        return Err(Error::from(ClientError::Gone).into());
                    }
                    sleep(HANDOVER_PAUSE).await;
                }
                Err(ClientError::Refused { why: Refusal::Rejected | Refusal::Stale, message }) => {
                    return Err(self.rejected(message).await);
                }
                Err(error) => return Err(Error::from(error).into()),
            }
        }
    }

    /// Returns the refusal for a rejected command. A run that has ended meanwhile is the most likely
    /// reason, and the most important.
    async fn rejected(&mut self, message: String) -> No {
        self.client = None;
        match self.effect().await {
            Ok(_) => No::not_now(message),
            Err(no) => no,
        }
    }

    async fn client(&mut self) -> Result<Client, No> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        match Client::connect(&self.socket, Some(self.token.clone())).await {
            Ok((client, _)) => Ok(self.client.insert(client).clone()),
            Err(error) => Err(No(
                Code::EnvUnavailable,
                format!("Unstuck cannot be reached from here: {error}."),
            )),
        }
    }
}

fn over() -> No {
    No::not_now("The run that you belong to has ended. Stop here.")
}

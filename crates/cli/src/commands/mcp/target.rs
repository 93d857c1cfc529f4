//! The destination of calls: the run around this process, whose token identifies the caller and whose holder
//! decides, or sessions of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use unstuck_core::engine::{Command, Effect, EffectId, RecordedEvent};
use unstuck_core::fault::Code;
use unstuck_core::plan::MutationSpec;
use unstuck_runner::control::{ClientError, ControlClient, ControlRefusal};

use super::session::McpSessions;
use super::words::ToolError;
use crate::error::CliError;
use crate::project::EnclosingRun;

/// The destination of calls.
pub(super) enum CallTarget {
    Run(McpRun),
    Sessions(McpSessions),
}

impl CallTarget {
    pub(super) const fn is_run(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    pub(super) async fn current_effect(&mut self) -> Result<Effect, ToolError> {
        match self {
            Self::Run(run) => run.current_effect().await,
            Self::Sessions(sessions) => sessions.current_effect().await,
        }
    }

    /// Sends a command for this effect; returns when its events are on disk.
    pub(super) async fn submit_command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<RecordedEvent>, ToolError> {
        match self {
            Self::Run(run) => run.submit_command(command).await,
            Self::Sessions(sessions) => sessions.submit_command(command).await,
        }
    }

    /// Returns the recorded result of an action of the run's task that was performed before.
    pub(super) async fn find_result(
        &mut self,
        spec: &MutationSpec,
    ) -> Result<Option<Arc<str>>, ToolError> {
        let Self::Run(run) = self else { return Ok(None) };
        let effect = run.current_effect().await?;
        Ok(run.connect_client().await?.find_result(&effect, spec).await)
    }

    /// Ends open sessions in an orderly way.
    pub(super) async fn leave(self) -> Result<(), CliError> {
        match self {
            Self::Run(_) => Ok(()),
            Self::Sessions(sessions) => sessions.leave().await,
        }
    }
}

/// Maximum time to wait for the next holder when one ends, and the interval of the retries.
const HANDOVER_MAX: Duration = Duration::from_secs(10);
const HANDOVER_PAUSE: Duration = Duration::from_millis(50);

pub(super) struct McpRun {
    enclosing: EnclosingRun,
    client: Option<ControlClient>,
}

impl McpRun {
    pub(super) const fn new(enclosing: EnclosingRun) -> Self {
        Self { enclosing, client: None }
    }

    pub(super) fn project_root(&self) -> Option<&Path> {
        self.enclosing.project_root()
    }

    pub(super) async fn current_effect(&mut self) -> Result<Effect, ToolError> {
        self.connect_client().await?.own_effect().cloned().ok_or_else(run_over_error)
    }

    pub(super) async fn submit_command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<RecordedEvent>, ToolError> {
        let patience = Instant::now() + HANDOVER_MAX;
        loop {
            let effect = self.current_effect().await?.id;
            match self.connect_client().await?.submit_command(command(effect)).await {
                Ok(events) => return Ok(events),
                Err(
                    ClientError::Gone | ClientError::Refused { why: ControlRefusal::Ended, .. },
                ) => {
                    // The next holder knows the token of the run too.
                    self.client = None;
                    if Instant::now() >= patience {
                        return Err(CliError::from(ClientError::Gone).into());
                    }
                    sleep(HANDOVER_PAUSE).await;
                }
                Err(ClientError::Refused {
                    why: ControlRefusal::Rejected | ControlRefusal::Stale,
                    message,
                }) => {
                    return Err(self.reject_command(message).await);
                }
                Err(error) => return Err(CliError::from(error).into()),
            }
        }
    }

    /// Returns the refusal for a rejected command. A run that has ended meanwhile is the most likely
    /// reason, and the most important.
    async fn reject_command(&mut self, message: String) -> ToolError {
        self.client = None;
        match self.current_effect().await {
            Ok(_) => ToolError::not_now(message),
            Err(no) => no,
        }
    }

    async fn connect_client(&mut self) -> Result<ControlClient, ToolError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        match self.enclosing.connect().await {
            Ok(client) => Ok(self.client.insert(client).clone()),
            Err(error) => Err(ToolError(
                Code::EnvUnavailable,
                format!("Unstuck cannot be reached from here: {error}."),
            )),
        }
    }
}

fn run_over_error() -> ToolError {
    ToolError::not_now("The run that you belong to has ended. Stop here.")
}

//! The destination of calls: the run around this process, or sessions of its own.

use unstuck_core::engine::{Command, Effect, EffectId, RecordedEvent};
use unstuck_core::fault::{Code, Fault};

use super::run::McpRun;
use super::session::McpSessions;
use crate::error::CliError;

/// The destination of calls.
pub(super) enum CallTarget {
    /// The run around this process.
    Run(McpRun),
    /// Sessions of this process.
    Sessions(McpSessions),
}

/// The reason of a refusal: its code, and the text for the caller.
#[derive(Debug)]
pub(super) struct ToolError(pub(super) Code, pub(super) String);

impl ToolError {
    /// Creates a refusal for a call that does not fit the current state.
    pub(super) fn not_now(words: impl Into<String>) -> Self {
        Self(Code::LogicPhaseViolation, words.into())
    }
}

impl From<CliError> for ToolError {
    fn from(error: CliError) -> Self {
        let code = error.code().unwrap_or(Code::LogicBadInput);
        let hints = error.hints().join("; ");
        let words = if hints.is_empty() { error.to_string() } else { format!("{error} ({hints})") };
        Self(code, words)
    }
}

impl From<Box<Fault>> for ToolError {
    fn from(fault: Box<Fault>) -> Self {
        Self(fault.code(), fault.message)
    }
}

impl CallTarget {
    /// Returns the effect that calls report to.
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

    /// Ends open sessions in an orderly way.
    pub(super) async fn leave(self) -> Result<(), CliError> {
        match self {
            Self::Run(_) => Ok(()),
            Self::Sessions(sessions) => sessions.leave().await,
        }
    }
}

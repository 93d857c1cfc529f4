//! The destination of calls: the run around this process, or sessions of its own.

use unstuck_core::engine::{Command, Effect, EffectId, Recorded};
use unstuck_core::fault::{Code, Fault};

use super::run::Run;
use super::session::Sessions;
use crate::error::Error;

/// The destination of calls.
pub(super) enum Desk {
    /// The run around this process.
    Run(Run),
    /// Sessions of this process.
    Sessions(Sessions),
}

/// The reason of a refusal: its code, and the text for the caller.
#[derive(Debug)]
pub(super) struct No(pub(super) Code, pub(super) String);

impl No {
    /// Creates a refusal for a call that does not fit the current state.
    pub(super) fn not_now(words: impl Into<String>) -> Self {
        Self(Code::LogicPhaseViolation, words.into())
    }
}

impl From<Error> for No {
    fn from(error: Error) -> Self {
        let code = error.code().unwrap_or(Code::LogicBadInput);
        let hints = error.hints().join("; ");
        let words = if hints.is_empty() { error.to_string() } else { format!("{error} ({hints})") };
        Self(code, words)
    }
}

impl From<Box<Fault>> for No {
    fn from(fault: Box<Fault>) -> Self {
        Self(fault.code(), fault.message)
    }
}

impl Desk {
    /// Returns the effect that calls report to.
    pub(super) async fn effect(&mut self) -> Result<Effect, No> {
        match self {
            Self::Run(run) => run.effect().await,
            Self::Sessions(sessions) => sessions.effect().await,
        }
    }

    /// Sends a command for this effect; returns when its events are on disk.
    pub(super) async fn command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<Recorded>, No> {
        match self {
            Self::Run(run) => run.command(command).await,
            Self::Sessions(sessions) => sessions.command(command).await,
        }
    }

    /// Ends open sessions in an orderly way.
    pub(super) async fn leave(self) -> Result<(), Error> {
        match self {
            Self::Run(_) => Ok(()),
            Self::Sessions(sessions) => sessions.leave().await,
        }
    }
}

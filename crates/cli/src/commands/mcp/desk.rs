//! Where calls go: to the run we are a child of, or to sessions of our own.

use unstuck_core::engine::{Command, Effect, EffectId, Recorded};
use unstuck_core::fault::{Code, Fault};

use super::run::Run;
use super::session::Sessions;
use crate::error::Error;

/// Where calls go.
pub(super) enum Desk {
    /// To the run we are a child of.
    Run(Run),
    /// To sessions of our own.
    Sessions(Sessions),
}

/// Why something was not done: its code, and words for whoever called.
#[derive(Debug)]
pub(super) struct No(pub(super) Code, pub(super) String);

impl No {
    /// It is not the time or the place for it.
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
    /// What we report for.
    pub(super) async fn effect(&mut self) -> Result<Effect, No> {
        match self {
            Self::Run(run) => run.effect().await,
            Self::Sessions(sessions) => sessions.effect().await,
        }
    }

    /// Has a command for what we report for decided; returns when that is on disk.
    pub(super) async fn command(
        &mut self,
        command: impl Fn(EffectId) -> Command,
    ) -> Result<Vec<Recorded>, No> {
        match self {
            Self::Run(run) => run.command(command).await,
            Self::Sessions(sessions) => sessions.command(command).await,
        }
    }

    /// Leaves nothing half done behind.
    pub(super) async fn leave(self) -> Result<(), Error> {
        match self {
            Self::Run(_) => Ok(()),
            Self::Sessions(sessions) => sessions.leave().await,
        }
    }
}

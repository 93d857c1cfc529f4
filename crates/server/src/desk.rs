//! Where people's wishes about a project are handed in.

use std::fmt;

use async_trait::async_trait;
use unstuck_core::engine::{Command, Recorded};
use unstuck_core::fault::Fault;

/// Whoever decides about a project: this process, or the one that holds it.
#[async_trait]
pub trait Desk: fmt::Debug + Send + Sync {
    /// Has a command decided, and waits until the decision is on disk.
    async fn command(&self, command: Command) -> Result<Vec<Recorded>, Refused>;

    /// There are answers to take up. Whether somebody is there who acts on them at once; where
    /// nobody is, the next one who takes the project up finds them.
    async fn take_answers(&self) -> Result<bool, Refused>;
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It does not fit the state things are in.
    #[error("{0}")]
    NotNow(String),
    /// There is no such thing.
    #[error("there is no {what} {name}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        name: String,
    },
    /// What was asked makes no sense.
    #[error("{0}")]
    Malformed(String),
    /// Whoever decides is coming or going; it can be tried again in a moment.
    #[error("the project is changing hands; try again in a moment")]
    ChangingHands,
    /// Something is in the way.
    #[error("{0}")]
    Fault(Box<Fault>),
}

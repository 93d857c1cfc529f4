//! The errors of a store, the holder that one of them names, and their faults.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::QuestionId;
use unstuck_core::fault::{Config, Fault, Http, Internal, Origin, Tool};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;

/// The source of the store's faults.
const SOURCE: &str = "store";

/// The reason why a store operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the project.
    #[error("the project is in use by {0}")]
    Held(Holder),
    /// The store was made by a newer version.
    #[error("{at} was made by a newer version of Unstuck (schema {found}, this one knows {known})")]
    Newer {
        /// The store's location.
        at: String,
        /// The schema of the store.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// The store may not be read or written.
    #[error("{at} cannot be {wanted}: {cause}")]
    Rights {
        /// The file or folder.
        at: PathBuf,
        /// The refused operation: read, written, made.
        wanted: &'static str,
        /// The system's message.
        cause: String,
    },
    /// The disk is full.
    #[error("there is no room left on the disk of {at}")]
    Full {
        /// The store's location.
        at: String,
    },
    /// The store does not respond at the moment.
    #[error("{at} does not answer: {cause}")]
    Unavailable {
        /// The store's location.
        at: String,
        /// The store's message.
        cause: String,
    },
    /// The store's content is invalid.
    #[error("{at} is damaged: {what}")]
    Damaged {
        /// The store's location.
        at: String,
        /// The damage found.
        what: String,
    },
    /// A batch did not become durable; nothing of it was written.
    #[error("{at} could not be written: {cause}")]
    NotWritten {
        /// The store's location.
        at: String,
        /// The store's message.
        cause: String,
    },
    /// The store could not be read, for a reason that is none of the others.
    #[error("{at} could not be read: {cause}")]
    NotRead {
        /// The store's location.
        at: String,
        /// The store's message.
        cause: String,
    },
    /// Another process has taken the project over in the meantime.
    #[error("{at} was taken over by another process")]
    Fenced {
        /// The store's location.
        at: String,
    },
}

/// The reason why an answer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question does not exist.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// The question was answered before.
    #[error("question {0} has already been answered")]
    Answered(QuestionId),
    /// The answer is no longer needed.
    #[error("question {0} was withdrawn: the answer is no longer needed")]
    Withdrawn(QuestionId),
    /// The question does not offer this decision.
    #[error("question {question} does not offer {decision}")]
    NotAnOption {
        /// The question concerned.
        question: QuestionId,
        /// The refused decision.
        decision: Decision,
    },
    /// The answer could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The process that holds a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The command it runs: `run`, `exec`, `serve`.
    pub verb: String,
    /// The time of the claim.
    pub since: Time,
}

impl StoreError {
    /// Converts the error to a fault with the source `store`.
    pub fn to_fault(&self) -> Fault {
        let message = self.to_string();
        let fault = match self {
            // A holder that does not respond is a service that is down: it may recover without help.
            Self::Held(_) | Self::Unavailable { .. } => {
                Fault::network_unavailable(SOURCE, message, Http::default())
            }
            Self::Full { .. } => Fault::env_disk_full(SOURCE, message, Tool::default()),
            Self::Newer { at, .. } => {
                Fault::config_invalid(SOURCE, message, config_for_path(at.clone()))
            }
            Self::Rights { at, .. } => {
                Fault::config_invalid(SOURCE, message, config_for_path(at.display().to_string()))
            }
            Self::Damaged { .. }
            | Self::NotWritten { .. }
            | Self::NotRead { .. }
            | Self::Fenced { .. } => {
                let component = SOURCE.to_owned();
                Fault::internal_store(SOURCE, message, Internal { component })
            }
        };
        fault.with_origin(Origin::Host)
    }

    /// Returns what a person can do about the error.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Held(_) => "wait until it is done, or stop it; then try again",
            Self::Newer { .. } => "use the newer version of Unstuck; this one changed nothing",
            Self::Rights { .. } => "give your user the right to it, or name another folder",
            Self::Full { .. } => "free space on that disk; the work continues by itself",
            Self::Unavailable { .. } => "look whether another program keeps it busy; try again",
            Self::Damaged { .. } => {
                "`unstuck store restore FILE` goes back to a copy, `unstuck store accept-loss` goes on \
                 without what is lost; nothing was changed"
            }
            Self::NotWritten { .. } | Self::NotRead { .. } => {
                "look at the disk and the system's log; nothing was half written, so try again"
            }
            Self::Fenced { .. } => "nothing: the other process goes on with the work",
        }
    }
}

fn config_for_path(path: String) -> Config {
    Config { path: Some(path), ..Config::default() }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`unstuck {}` (process {})", self.verb, self.pid)
    }
}

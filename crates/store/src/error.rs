//! What can go wrong with a store, and which fault it is.

use std::path::PathBuf;

use unstuck_core::fault::{Config, Fault, Http, Internal, Origin, Tool};

use crate::store::Holder;

/// Where faults of the store are raised.
const SOURCE: &str = "store";

/// Why a store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else writes to the project.
    #[error("the project is in use by {0}")]
    Held(Holder),
    /// It was made by a newer version.
    #[error("{at} was made by a newer version of Unstuck (schema {found}, this one knows {known})")]
    Newer {
        /// The store.
        at: String,
        /// Its schema.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// It may not be read or written.
    #[error("{at} cannot be {wanted}: {cause}")]
    Rights {
        /// The file or folder.
        at: PathBuf,
        /// What was wanted: read, written, made.
        wanted: &'static str,
        /// What the system said.
        cause: String,
    },
    /// There is no room left.
    #[error("there is no room left on the disk of {at}")]
    Full {
        /// The store.
        at: String,
    },
    /// It does not answer just now.
    #[error("{at} does not answer: {cause}")]
    Unavailable {
        /// The store.
        at: String,
        /// What it said.
        cause: String,
    },
    /// What it holds makes no sense.
    #[error("{at} is damaged: {what}")]
    Damaged {
        /// The store.
        at: String,
        /// What was found.
        what: String,
    },
    /// A batch did not become durable; nothing of it was written.
    #[error("{at} could not be written: {cause}")]
    NotWritten {
        /// The store.
        at: String,
        /// What it said.
        cause: String,
    },
    /// It could not be read just now, for a reason that is none of the others.
    #[error("{at} could not be read: {cause}")]
    NotRead {
        /// The store.
        at: String,
        /// What it said.
        cause: String,
    },
    /// Somebody else has taken the project over in the meantime.
    #[error("{at} was taken over by another process")]
    Fenced {
        /// The store.
        at: String,
    },
}

impl StoreError {
    /// The fault it is. Its source is `store`.
    pub fn fault(&self) -> Fault {
        let message = self.to_string();
        let fault = match self {
            // A holder that does not answer is a service that is down: it may come back by itself.
            Self::Held(_) | Self::Unavailable { .. } => {
                Fault::network_unavailable(SOURCE, message, Http::default())
            }
            Self::Full { .. } => Fault::env_disk_full(SOURCE, message, Tool::default()),
            Self::Newer { at, .. } => Fault::config_invalid(SOURCE, message, place(at.clone())),
            Self::Rights { at, .. } => {
                Fault::config_invalid(SOURCE, message, place(at.display().to_string()))
            }
            Self::Damaged { .. }
            | Self::NotWritten { .. }
            | Self::NotRead { .. }
            | Self::Fenced { .. } => {
                let component = SOURCE.to_owned();
                Fault::internal_store(SOURCE, message, Internal { component })
            }
        };
        fault.from_origin(Origin::Host)
    }

    /// What a person can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Held(_) => "wait until it is done, or stop it; then try again",
            Self::Newer { .. } => "use the newer version of Unstuck; this one changed nothing",
            Self::Rights { .. } => "give your user the right to it, or name another folder",
            Self::Full { .. } => "make room on that disk; the work goes on by itself",
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

fn place(path: String) -> Config {
    Config { path: Some(path), ..Config::default() }
}

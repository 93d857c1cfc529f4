//! Errors of the server and of access to it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use unstuck_core::fault::Code;
use unstuck_server::auth::{AccessError, InvalidPublicHost};

use crate::exit::Exit;

/// The reason why the server could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// The address could not be bound.
    #[error("cannot listen at {address}: {source}")]
    NotBound {
        /// The address of the server.
        address: SocketAddr,
        /// The error of the system call.
        source: io::Error,
    },
    /// Two projects have the same name.
    #[error("two projects are called {name}: {} and {}", roots[0].display(), roots[1].display())]
    SameName {
        name: String,
        /// The roots of both projects.
        roots: [PathBuf; 2],
    },
    /// The host name of the server is not valid.
    #[error(transparent)]
    UnfitHost(#[from] InvalidPublicHost),
    /// The access tokens could not be read or changed.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl ServeError {
    /// Returns the exit code for this error.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::NotBound { .. } => Exit::Config,
            Self::SameName { .. } | Self::UnfitHost(_) => Exit::Usage,
            // Unusable files need a person; the other errors are mistyped arguments.
            Self::Access(error) => match error {
                AccessError::NotRead { .. }
                | AccessError::NotWritten { .. }
                | AccessError::Damaged { .. }
                | AccessError::Newer { .. }
                | AccessError::Exposed { .. } => Exit::Config,
                AccessError::NoRandom(_) => Exit::Internal,
                AccessError::UnknownToken(_)
                | AccessError::TooMany(_)
                | AccessError::UnfitName(_) => Exit::Usage,
            },
        }
    }

    /// Returns the fault code for this error.
    pub(super) const fn code(&self) -> Option<Code> {
        match self.exit() {
            Exit::Config => Some(Code::ConfigInvalid),
            Exit::Internal => Some(Code::InternalError),
            _ => None,
        }
    }

    /// Returns the next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NotBound { address, .. } => vec![
                format!("is `unstuck serve` running already? http://{address}/ would answer"),
                "`--bind 127.0.0.1:PORT` takes another port".to_owned(),
            ],
            Self::SameName { .. } => {
                vec!["serve them apart, or give one folder another name".to_owned()]
            }
            Self::UnfitHost(_) => Vec::new(),
            Self::Access(error) => vec![error.hint()],
        }
    }
}

//! The server, and who is let in.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use unstuck_core::fault::Code;
use unstuck_server::auth::{AccessError, UnfitHost};

use crate::exit::Exit;

/// Why nothing could be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// Nobody can listen there.
    #[error("cannot listen at {address}: {source}")]
    NotBound {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Two projects are called the same.
    #[error("two projects are called {name}: {} and {}", roots[0].display(), roots[1].display())]
    SameName {
        /// What.
        name: String,
        /// Where they are.
        roots: [PathBuf; 2],
    },
    /// The server cannot be called that.
    #[error(transparent)]
    UnfitHost(#[from] UnfitHost),
    /// Who is let in could not be read or changed.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl ServeError {
    /// The exit code it leads to.
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::NotBound { .. } => Exit::Config,
            Self::SameName { .. } | Self::UnfitHost(_) => Exit::Usage,
            // Files that cannot be used need a person; what does not fit was mistyped.
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

    /// The code of what is in the way.
    pub(super) const fn code(&self) -> Option<Code> {
        match self.exit() {
            Exit::Config => Some(Code::ConfigInvalid),
            Exit::Internal => Some(Code::InternalError),
            _ => None,
        }
    }

    /// Next steps, most useful first.
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

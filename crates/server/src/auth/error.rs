//! Errors of the files that decide about access.

use std::io;
use std::path::PathBuf;

use super::caller::TokenId;

/// An error of the files that decide about access. While it lasts, all requests are refused.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    NotRead {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file or folder could not be created or written. The previous content is intact.
    #[error("cannot write {}: {source}", path.display())]
    NotWritten {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file has invalid content.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The error, and its position.
        why: String,
    },
    /// A newer Unstuck wrote the file.
    #[error("{} was written by a newer Unstuck (version {version} of the file)", path.display())]
    Newer {
        /// The path of the file.
        path: PathBuf,
        /// The version of the file's format.
        version: u32,
    },
    /// Other users may read or change the file.
    #[error("{} is open to other users (mode {mode:04o})", path.display())]
    Exposed {
        /// The path of the file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    NoRandom(String),
    /// There is no such token.
    #[error("there is no token {0}")]
    UnknownToken(TokenId),
    /// The maximum number of tokens is reached.
    #[error("there are {0} tokens already")]
    TooMany(usize),
    /// The name cannot be recorded in answers.
    #[error("this name cannot be used: {0}")]
    UnfitName(&'static str),
}

impl AccessError {
    /// Returns the next step for the operator.
    pub fn hint(&self) -> String {
        match self {
            Self::NotRead { .. } | Self::NotWritten { .. } => {
                "give your user the right to it, and see that the disk has room".to_owned()
            }
            Self::Damaged { path, .. } => format!(
                "put it back from a copy; or move {} away: new ones are made, and what was given \
                 out before stops working",
                path.display()
            ),
            Self::Newer { .. } => "use the newer Unstuck; nothing was changed".to_owned(),
            Self::Exposed { path, .. } => {
                format!(
                    "`chmod 600 {}`, and make new tokens if others may have read it",
                    path.display()
                )
            }
            Self::NoRandom(_) => "nothing was made; try again".to_owned(),
            Self::UnknownToken(_) => "`unstuck token list` shows what there is".to_owned(),
            Self::TooMany(_) => {
                "`unstuck token revoke ID` takes back those that are not used".to_owned()
            }
            Self::UnfitName(_) => "take a short name of its user, such as ada".to_owned(),
        }
    }
}

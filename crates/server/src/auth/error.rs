//! What can be wrong with the files that say who is let in.

use std::io;
use std::path::PathBuf;

use super::token::TokenId;

/// Something about the files that say who is let in. While it lasts, nobody is.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    NotRead {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or folder could not be made or written. What was there before still is.
    #[error("cannot write {}: {source}", path.display())]
    NotWritten {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// Which one.
        path: PathBuf,
        /// What is wrong, and where in it.
        why: String,
    },
    /// A newer Unstuck wrote it.
    #[error("{} was written by a newer Unstuck (version {version} of the file)", path.display())]
    Newer {
        /// Which one.
        path: PathBuf,
        /// The version of what it holds.
        version: u32,
    },
    /// Other users may read or change it.
    #[error("{} is open to other users (mode {mode:04o})", path.display())]
    Exposed {
        /// Which one.
        path: PathBuf,
        /// Who may do what with it.
        mode: u32,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    NoRandom(String),
    /// There is no such token.
    #[error("there is no token {0}")]
    UnknownToken(TokenId),
    /// Nobody keeps track of so many.
    #[error("there are {0} tokens already")]
    TooMany(usize),
    /// A name that answers could not record.
    #[error("this name cannot be used: {0}")]
    UnfitName(&'static str),
}

impl AccessError {
    /// The next step.
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

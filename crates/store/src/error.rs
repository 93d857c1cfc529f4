//! What can go wrong with a store, and which fault it is.

use std::path::PathBuf;

use unstuck_core::fault::Fault;

use crate::store::Holder;

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
        let _ = self;
        unimplemented!()
    }
}

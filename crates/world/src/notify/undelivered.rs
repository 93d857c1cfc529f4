//! Why a message did not arrive.

use unstuck_core::time::{Span, Time};

/// Why a message did not arrive. What is said names hosts and programs, never an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    /// It may work later.
    #[error("{why}")]
    Later {
        /// What happened.
        why: String,
        /// How long the other side wants to be left alone, where it said so.
        after: Option<Wait>,
    },
    /// The same again cannot work: somebody has to change the settings.
    #[error("{why}")]
    Never {
        /// What happened.
        why: String,
    },
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// This long from now.
    For(Span),
    /// Until then.
    Until(Time),
}

impl Undelivered {
    pub(super) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), after: None }
    }

    pub(super) fn never(why: impl Into<String>) -> Self {
        Self::Never { why: why.into() }
    }
}

impl Wait {
    /// When the wait is over.
    pub fn end(self, now: Time) -> Time {
        match self {
            Self::For(span) => now + span,
            Self::Until(at) => at,
        }
    }
}

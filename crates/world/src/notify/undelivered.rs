//! The reason why a message was not delivered.

use unstuck_core::time::{Span, Time};

/// The reason why a message was not delivered. Its text names hosts and programs, never a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// A retry may work.
    #[error("{why}")]
    Later {
        /// The error in words.
        why: String,
        /// The wait that the service asked for, if any.
        after: Option<DeliveryDelay>,
    },
    /// A retry cannot work: the operator has to change the settings.
    #[error("{why}")]
    Never {
        /// The error in words.
        why: String,
    },
}

/// The time to wait before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryDelay {
    /// A span from now.
    For(Span),
    /// A point in time.
    Until(Time),
}

impl DeliveryError {
    pub(super) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), after: None }
    }

    pub(super) fn never(why: impl Into<String>) -> Self {
        Self::Never { why: why.into() }
    }
}

impl DeliveryDelay {
    /// Returns the end of the wait.
    pub fn ends_at(self, now: Time) -> Time {
        match self {
            Self::For(span) => now + span,
            Self::Until(at) => at,
        }
    }
}

//! Outboxes: the position up to which each notification channel has delivered.
//!
//! The messages follow from the journal, so there is no second copy of them: only the position up to which
//! everything was delivered, and the state of the next attempt. The process that continues after a crash
//! reads the journal from there.

use unstuck_core::time::Time;

/// The progress of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// The position of the last event about which everything was delivered.
    pub upto: u64,
    /// Number of failed attempts to deliver the next message.
    pub tries: u32,
    /// Earliest time of the next attempt.
    pub retry_at: Option<Time>,
}

impl Outbox {
    /// Creates an outbox with everything delivered up to this position.
    pub const fn delivered_up_to(upto: u64) -> Self {
        Self { upto, tries: 0, retry_at: None }
    }
}

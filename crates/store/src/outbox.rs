//! Outboxes: how far each channel has told people what happened.
//!
//! What is told follows from the journal, so there is no second copy of it here: only the position
//! up to which everything was told, and what is known about the try that comes next. Whoever goes
//! on after a crash reads the journal from there.

use unstuck_core::time::Time;

/// How far a channel has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// The position of the last event about which nothing is left to tell.
    pub upto: u64,
    /// How often what comes next was tried in vain.
    pub tries: u32,
    /// When it may be tried again.
    pub retry_at: Option<Time>,
}

impl Outbox {
    /// Nothing is left to tell up to here.
    pub const fn told(upto: u64) -> Self {
        Self { upto, tries: 0, retry_at: None }
    }
}

//! How long a program may take: until its first byte, between bytes, and in all.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::output::Flow;

/// Which deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Nothing was written at all.
    FirstByte,
    /// Nothing more was written.
    Idle,
    /// It took too long in all.
    Total,
}

/// How long a program may take. What is none has no end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Until its first byte of output. Without it the idle deadline counts from the start.
    pub first_byte: Option<Duration>,
    /// Between two bytes of output.
    pub idle: Option<Duration>,
    /// In all.
    pub total: Option<Duration>,
}

/// A point in time at which a deadline passes, unless output comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: Instant,
    which: Deadline,
    limit: Duration,
}

impl Deadlines {
    /// Waits until one of them has passed; for ever where there is none.
    pub(super) async fn passed(&self, started: Instant, flow: &Flow) -> (Deadline, Duration) {
        loop {
            let Some(due) = self.next(started, flow) else {
                return std::future::pending().await;
            };
            // A first byte brings an earlier deadline, but none that is nearer than a whole idle time.
            let idle = self.idle.and_then(|idle| Instant::now().checked_add(idle));
            sleep_until(idle.map_or(due.at, |idle| idle.min(due.at))).await;
            // Output that came meanwhile has moved it.
            if due.at <= Instant::now() && self.next(started, flow) == Some(due) {
                return (due.which, due.limit);
            }
        }
    }

    fn next(&self, started: Instant, flow: &Flow) -> Option<Due> {
        let due = |which, from: Instant, limit: Option<Duration>| {
            // A deadline beyond the end of time is none.
            let at = limit.and_then(|limit| from.checked_add(limit))?;
            Some(Due { at, which, limit: limit? })
        };
        let quiet = match (flow.last_byte(), self.first_byte) {
            (None, Some(_)) => due(Deadline::FirstByte, started, self.first_byte),
            (last, _) => due(Deadline::Idle, last.unwrap_or(started), self.idle),
        };
        let total = due(Deadline::Total, started, self.total);
        [quiet, total].into_iter().flatten().min_by_key(|due| due.at)
    }
}

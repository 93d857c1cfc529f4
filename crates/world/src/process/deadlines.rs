//! The deadlines of a program: for its first byte, between bytes, and in total.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::output::OutputFlow;

/// The kind of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// No output at all.
    FirstByte,
    /// No further output.
    Idle,
    /// Too long in total.
    Total,
}

/// The time limits of a program; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessDeadlines {
    /// Time until the first byte of output. Without it, the idle limit counts from the start.
    pub first_byte: Option<Duration>,
    /// Time between two bytes of output.
    pub idle: Option<Duration>,
    /// Time in total.
    pub total: Option<Duration>,
}

/// A point in time at which a deadline passes, unless output moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DueDeadline {
    at: Instant,
    which: Deadline,
    limit: Duration,
}

impl ProcessDeadlines {
    /// Waits until a deadline has passed; forever if there is none.
    pub(super) async fn wait_until_passed(
        &self,
        started: Instant,
        flow: &OutputFlow,
    ) -> (Deadline, Duration) {
        loop {
            let Some(due) = self.next_due(started, flow) else {
                return std::future::pending().await;
            };
            // The first byte brings an earlier deadline, but never one nearer than a whole idle
            // time.
            let idle = self.idle.and_then(|idle| Instant::now().checked_add(idle));
            sleep_until(idle.map_or(due.at, |idle| idle.min(due.at))).await;
            // Output in the meantime has moved the deadline.
            if due.at <= Instant::now() && self.next_due(started, flow) == Some(due) {
                return (due.which, due.limit);
            }
        }
    }

    fn next_due(&self, started: Instant, flow: &OutputFlow) -> Option<DueDeadline> {
        let due = |which, from: Instant, limit: Option<Duration>| {
            // A deadline too far in the future to represent is none.
            let at = limit.and_then(|limit| from.checked_add(limit))?;
            Some(DueDeadline { at, which, limit: limit? })
        };
        let quiet = match (flow.last_byte_at(), self.first_byte) {
            (None, Some(_)) => due(Deadline::FirstByte, started, self.first_byte),
            (last, _) => due(Deadline::Idle, last.unwrap_or(started), self.idle),
        };
        let total = due(Deadline::Total, started, self.total);
        [quiet, total].into_iter().flatten().min_by_key(|due| due.at)
    }
}

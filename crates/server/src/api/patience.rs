//! Requests that wait for an event, up to a limit.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::SharedServerState;
use crate::problem::Problem;
use crate::site::HostedProject;

/// Maximum number of seconds that one request may wait.
const WAIT_SECONDS_MAX: u64 = 55;

/// The time that a request waits.
pub(super) struct LongPoll {
    seconds: u64,
}

impl LongPoll {
    /// Parses the wait; without one, the request does not wait.
    pub(super) fn from_wait(wait: Option<u64>) -> Result<Self, Problem> {
        let seconds = wait.unwrap_or(0);
        if seconds <= WAIT_SECONDS_MAX {
            return Ok(Self { seconds });
        }
        let detail = format!("`wait` is at most {WAIT_SECONDS_MAX} seconds");
        Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
            .with_hint("ask again when the time is over"))
    }

    /// Calls `read`, and again after each event of the project, until the result is as wanted or
    /// the time is over.
    pub(super) async fn read_until<T, R>(
        &self,
        site: &SharedServerState,
        room: &HostedProject,
        read: impl Fn() -> R,
        is_wanted: impl Fn(&T) -> bool,
    ) -> Result<T, Problem>
    where
        R: Future<Output = Result<T, Problem>>,
    {
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let mut news = room.hub.subscribe_head();
        loop {
            news.mark_unchanged();
            let found = read().await?;
            if self.seconds == 0 || is_wanted(&found) || site.stop.is_cancelled() {
                return Ok(found);
            }
            let changed = async {
                tokio::select! {
                    changed = news.changed() => changed.is_ok(),
                    () = site.stop.cancelled() => false,
                }
            };
            if !timeout_at(until, changed).await.unwrap_or(false) {
                return read().await;
            }
        }
    }
}

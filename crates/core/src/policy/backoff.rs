//! The backoff: the wait before the next retry.

use serde::{Deserialize, Serialize};

use crate::chance::Rng;
use crate::time::{Span, Time};

/// Maximum jitter added to a wait the server asked for: enough to spread the requests, and little enough for
/// the time reported to a person to be the server's.
const SERVER_JITTER_MAX: Span = Span::from_mins(1);

/// A wait that doubles up to a cap, with random jitter so that many retries do not coincide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// The first wait.
    pub base_ms: Span,
    /// Maximum wait, before the jitter.
    pub cap_ms: Span,
    /// Maximum jitter in hundredths of the wait.
    pub jitter_percent: u64,
    /// Maximum jitter in hundredths of a wait the server asked for.
    pub server_jitter_percent: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base_ms: Span::from_secs(1),
            cap_ms: Span::from_mins(5),
            jitter_percent: 30,
            server_jitter_percent: 10,
        }
    }
}

impl Backoff {
    /// Returns the wait before retry `n`, counted from 0.
    pub fn jittered_wait(&self, n: u32, rng: &mut Rng) -> Span {
        let wait = self.base_wait(n);
        wait.saturating_add(rng.up_to(wait.percent(self.jitter_percent)))
    }

    /// Returns the wait for one that the server asked for; never shorter than that, and hardly longer.
    pub fn server_wait(&self, wait: Span, rng: &mut Rng) -> Span {
        let most = wait.percent(self.server_jitter_percent);
        wait.saturating_add(rng.up_to(most.min(SERVER_JITTER_MAX)))
    }

    /// Returns the time of the next retry: the server's value takes precedence over the retry count.
    pub fn next_retry_at(
        &self,
        n: u32,
        retry_after: Option<Span>,
        resets_at: Option<Time>,
        now: Time,
        rng: &mut Rng,
    ) -> Time {
        let asked = match (retry_after, resets_at) {
            (Some(wait), _) => Some(wait),
            (None, Some(at)) if at > now => Some(at.since(now)),
            (None, _) => None,
        };
        now + match asked {
            Some(wait) => self.server_wait(wait, rng),
            None => self.jittered_wait(n, rng),
        }
    }

    fn base_wait(&self, n: u32) -> Span {
        let factor = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
        self.base_ms.saturating_mul(factor).min(self.cap_ms)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    proptest! {
        // T3.13
        #[test]
        fn backoff_doubles_up_to_five_minutes_with_up_to_thirty_percent_on_top(
            n in 0_u32..200,
            seed: u64,
        ) {
            let wait = Backoff::default().jittered_wait(n, &mut Rng::from_seed(seed)).as_millis();
            let plain = if n >= 9 { 300_000 } else { 1_000 << n };
            prop_assert!((plain..=plain * 13 / 10).contains(&wait), "{wait} after {n}");
        }

        // TX11
        #[test]
        fn a_servers_word_wins_and_is_never_undercut(seed: u64, n in 0_u32..20) {
            let now = Time::from_millis(7_000);
            let until = Backoff::default().next_retry_at(
                n, Some(Span::from_secs(30)), None, now, &mut Rng::from_seed(seed));
            prop_assert!((30_000..=33_000).contains(&until.since(now).as_millis()));
            let day = Span::from_hours(24);
            let until = Backoff::default().next_retry_at(n, Some(day), None, now, &mut Rng::from_seed(seed));
            let beyond = until.since(now).as_millis() - day.as_millis();
            prop_assert!(beyond <= 60_000, "{beyond}");
        }
    }
}

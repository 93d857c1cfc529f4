//! Counts failed authentication attempts by address.
//!
//! Tokens cannot be guessed; this only saves work, and tells a program with a wrong token to slow
//! down. A valid token is accepted all the same, so that no neighbor on an address locks others
//! out.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

/// Number of failures that have no consequence.
const FAILURES_MAX: u32 = 10;
/// The period in which they are counted.
const WITHIN: Duration = Duration::from_mins(1);
/// Maximum number of addresses that are remembered.
const ADDRESSES_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct AuthFailureLimiter {
    /// Number of failures and the time of the first, by address.
    by_address: HashMap<Option<IpAddr>, (u32, Instant)>,
}

impl AuthFailureLimiter {
    /// Counts a failure. After too many, returns the time until a retry is useful.
    pub(super) fn record_failure(
        &mut self,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Option<Duration> {
        let address = address.map(network_block);
        if !self.by_address.contains_key(&address) {
            self.make_room(now);
        }
        let (count, since) = self.by_address.entry(address).or_insert((0, now));
        if now.duration_since(*since) >= WITHIN {
            (*count, *since) = (0, now);
        }
        *count = count.saturating_add(1);
        (*count > FAILURES_MAX).then(|| WITHIN.saturating_sub(now.duration_since(*since)))
    }

    /// Removes expired entries, and the oldest if there are none.
    fn make_room(&mut self, now: Instant) {
        if self.by_address.len() < ADDRESSES_MAX {
            return;
        }
        self.by_address.retain(|_, (_, since)| now.duration_since(*since) < WITHIN);
        if self.by_address.len() < ADDRESSES_MAX {
            return;
        }
        let oldest = self.by_address.iter().min_by_key(|(_, (_, since))| *since);
        if let Some(oldest) = oldest.map(|(address, _)| *address) {
            self.by_address.remove(&oldest);
        }
    }
}

/// Returns an IPv4 address, or the /64 block of an IPv6 address, which one customer has.
fn network_block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[tokio::test(start_paused = true)]
    async fn after_ten_failures_a_minute_has_to_pass() {
        let mut failures = AuthFailureLimiter::default();
        let begin = Instant::now();
        for _ in 0..10 {
            assert_eq!(failures.record_failure(address("10.0.0.1"), begin), None);
        }
        let later = begin + Duration::from_secs(15);
        assert_eq!(
            failures.record_failure(address("10.0.0.1"), later),
            Some(Duration::from_secs(45))
        );
        assert_eq!(failures.record_failure(address("10.0.0.2"), later), None);
        assert_eq!(failures.record_failure(None, later), None);
        assert_eq!(failures.record_failure(address("10.0.0.1"), begin + WITHIN), None);
    }

    #[tokio::test(start_paused = true)]
    async fn one_customer_is_one_address() {
        let mut failures = AuthFailureLimiter::default();
        let now = Instant::now();
        for last in 0..10 {
            assert_eq!(
                failures.record_failure(address(&format!("2001:db8:1:2::{last}")), now),
                None
            );
        }
        assert!(failures.record_failure(address("2001:db8:1:2:ffff::1"), now).is_some());
        assert_eq!(failures.record_failure(address("2001:db8:1:3::1"), now), None);
        for _ in 0..10 {
            assert_eq!(failures.record_failure(address("::ffff:10.0.0.1"), now), None);
        }
        assert!(failures.record_failure(address("10.0.0.1"), now).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_an_end_to_what_is_remembered() {
        let mut failures = AuthFailureLimiter::default();
        let now = Instant::now();
        for number in 0..10_000_u32 {
            let at = now + Duration::from_millis(number.into());
            failures.record_failure(Some(IpAddr::V4(number.into())), at);
        }
        assert_eq!(failures.by_address.len(), ADDRESSES_MAX);
        // The newest entries are left.
        assert!(failures.by_address.contains_key(&Some(IpAddr::V4(9_999.into()))));
        failures.record_failure(None, now + Duration::from_mins(10));
        assert_eq!(failures.by_address.len(), 1);
    }
}

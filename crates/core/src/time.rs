//! Points in time and spans, in whole milliseconds.
//!
//! The core never reads the clock: the caller passes the time. A millisecond since the Unix epoch is all a
//! decision needs; time zones and calendars belong to the edges.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// Creates the point `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if it lies ahead (a clock may be set back).
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// A length of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Span(u64);

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);

    /// Creates a span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Creates a span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000))
    }

    /// Creates a span of `mins` minutes.
    pub const fn from_mins(mins: u64) -> Self {
        Self::from_secs(mins.saturating_mul(60))
    }

    /// Creates a span of `hours` hours.
    pub const fn from_hours(hours: u64) -> Self {
        Self::from_mins(hours.saturating_mul(60))
    }

    /// Returns the length in milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the saturating sum of both spans.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the span multiplied by `factor`.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Returns `percent` hundredths of the span, rounded down.
    #[must_use]
    pub const fn percent(self, percent: u64) -> Self {
        Self(self.0 / 100 * percent + self.0 % 100 * percent / 100)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.0)
    }
}

/// Formats the span for people: `4m12s`, `1h 47m`, `800ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0 / 1_000;
        let hours = secs / 3_600;
        let mins = secs / 60 % 60;
        let rest = secs % 60;
        match (hours, mins) {
            (0, 0) if (1..1_000).contains(&self.0) => write!(f, "{}ms", self.0),
            (0, 0) => write!(f, "{rest}s"),
            (0, _) => write!(f, "{mins}m{rest:02}s"),
            (1..48, _) => write!(f, "{hours}h {mins:02}m"),
            _ => write!(f, "{}d {}h", hours / 24, hours % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_say_them() {
        let cases = [
            (Span::from_millis(0), "0s"),
            (Span::from_millis(800), "800ms"),
            (Span::from_secs(9), "9s"),
            (Span::from_secs(252), "4m12s"),
            (Span::from_mins(107), "1h 47m"),
            (Span::from_hours(50), "2d 2h"),
        ];
        for (span, said) in cases {
            assert_eq!(span.to_string(), said);
        }
    }

    #[test]
    fn a_clock_set_back_gives_no_negative_age() {
        assert_eq!(Time::from_millis(5).since(Time::from_millis(9)), Span::ZERO);
    }

    #[test]
    fn a_percentage_does_not_overflow() {
        assert_eq!(Span::from_millis(250).percent(30), Span::from_millis(75));
        assert_eq!(Span::from_millis(u64::MAX).percent(100), Span::from_millis(u64::MAX));
    }
}

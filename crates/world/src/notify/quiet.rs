//! Quiet hours, during which messages are held back.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, de};
use unstuck_core::time::Time;

/// Quiet hours, from one local time of day to another: `22:00-07:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    from: civil::Time,
    to: civil::Time,
}

/// The error for a text that is no valid quiet hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no time of the day to be quiet in; write it like \"22:00-07:00\"")]
pub struct QuietHoursError(String);

impl QuietHours {
    /// Returns the end of the quiet hours that `at` falls into, or `None` if it is outside of them.
    pub fn find_end(&self, at: Time, zone: &TimeZone) -> Option<Time> {
        let millis = i64::try_from(at.as_millis()).ok()?;
        let local = Timestamp::from_millisecond(millis).ok()?.to_zoned(zone.clone()).datetime();
        let date = local.date();
        let time = local.time();
        let over_midnight = self.to <= self.from;
        let day = match (over_midnight, time >= self.from, time < self.to) {
            (false, true, true) | (true, false, true) => date,
            (true, true, _) => date.tomorrow().ok()?,
            _ => return None,
        };
        let end = day.to_datetime(self.to).to_zoned(zone.clone()).ok()?.timestamp();
        let end = Time::from_millis(u64::try_from(end.as_millisecond()).ok()?);
        // When clocks are set back, an hour occurs twice; the first occurrence was the end.
        (end > at).then_some(end)
    }
}

impl FromStr for QuietHours {
    type Err = QuietHoursError;

    fn from_str(text: &str) -> Result<Self, QuietHoursError> {
        let unreadable = || QuietHoursError(text.chars().take(40).collect());
        let (from, to) = text.split_once('-').ok_or_else(unreadable)?;
        let time = |part: &str| civil::Time::strptime("%H:%M", part.trim()).ok();
        let (from, to) = time(from).zip(time(to)).ok_or_else(unreadable)?;
        // Equal times could mean always or never.
        if from == to {
            return Err(unreadable());
        }
        Ok(Self { from, to })
    }
}

impl<'de> Deserialize<'de> for QuietHours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let two = |time: civil::Time| format!("{:02}:{:02}", time.hour(), time.minute());
        write!(f, "{}-{}", two(self.from), two(self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time zone of Berlin as a POSIX rule, which needs no time zone database.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(utc: &str) -> Time {
        let at: Timestamp = utc.parse().unwrap();
        Time::from_millis(u64::try_from(at.as_millisecond()).unwrap())
    }

    #[test]
    fn quiet_is_held_across_midnight_and_changed_clocks() {
        let night = "22:00-07:00";
        let cases = [
            // In winter, an hour ahead.
            (night, "2026-01-10T20:59:59Z", None),
            (night, "2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-10T23:30:00Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-11T05:59:59Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-11T06:00:00Z", None),
            // The night in which the clocks go forward is an hour shorter.
            (night, "2026-03-28T21:30:00Z", Some("2026-03-29T05:00:00Z")),
            // The night in which they go back is an hour longer.
            (night, "2026-10-24T20:30:00Z", Some("2026-10-25T06:00:00Z")),
            // An end that the clocks jump over is reached right after the jump.
            ("01:00-02:30", "2026-03-29T00:30:00Z", Some("2026-03-29T01:30:00Z")),
            // An end that comes twice is the first one.
            ("01:00-02:30", "2026-10-24T23:30:00Z", Some("2026-10-25T00:30:00Z")),
            ("01:00-02:30", "2026-10-25T01:15:00Z", None),
            // Within one day, and up to midnight.
            ("12:00-14:00", "2026-07-01T10:00:00Z", Some("2026-07-01T12:00:00Z")),
            ("12:00-14:00", "2026-07-01T12:00:00Z", None),
            ("20:00-00:00", "2026-07-01T21:59:00Z", Some("2026-07-01T22:00:00Z")),
            ("20:00-00:00", "2026-07-01T22:00:00Z", None),
        ];
        for (hours, now, end) in cases {
            let hours: QuietHours = hours.parse().unwrap();
            assert_eq!(hours.find_end(at(now), &berlin()), end.map(at), "{hours} {now}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        for text in ["", "22:00", "22-07", "25:00-07:00", "22:00-22:00", "at night", "22:00-07:60"]
        {
            assert!(text.parse::<QuietHours>().is_err(), "{text}");
        }
        let error = "at night".parse::<QuietHours>().unwrap_err().to_string();
        assert!(error.contains("at night") && error.contains("22:00-07:00"), "{error}");
        assert_eq!(" 9:05 - 10:00".parse::<QuietHours>().unwrap().to_string(), "09:05-10:00");
    }
}

//! Parses the reset time of a plan's window from Codex's message: "try again at 1:35 AM." on the
//! same day, and "try again at Nov 17th, 2026 1:35 AM." on another day.
//!
//! Without the rate limits of the account, which a self-hosted service does not send, no other
//! field has it.

use jiff::Timestamp;
use jiff::civil::{Date, Time as Clock};
use jiff::tz::TimeZone;
use unstuck_core::time::Time;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses the time in `message`, written at `now` in the operator's time zone.
pub(super) fn parse_reset_time(message: &str, now: Time, zone: &TimeZone) -> Option<Time> {
    let (_, words) = message.rsplit_once("ry again at ")?;
    let words: Vec<&str> = words.trim_end_matches('.').split_whitespace().collect();
    let (day, clock) = words.split_last_chunk::<2>()?;
    let now = Timestamp::from_millisecond(i64::try_from(now.as_millis()).ok()?).ok()?;
    let date = match day {
        [] => now.to_zoned(zone.clone()).date(),
        [month, day, year] => parse_date(month, day, year)?,
        _ => return None,
    };
    let at = date.to_datetime(parse_clock(*clock)?).to_zoned(zone.clone()).ok()?;
    let millis = at.timestamp().as_millisecond();
    u64::try_from(millis).ok().map(Time::from_millis)
}

fn parse_date(month: &str, day: &str, year: &str) -> Option<Date> {
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day = day.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    Date::new(year.parse().ok()?, i8::try_from(month).ok()? + 1, day).ok()
}

fn parse_clock([clock, half]: [&str; 2]) -> Option<Clock> {
    let (hour, minute) = clock.split_once(':')?;
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let after_noon = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Clock::new(hour % 12 + after_noon, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // B41
    #[test]
    fn the_end_of_a_window_is_read_in_both_forms() {
        // 2026-11-15 00:35:39 UTC
        let now = Time::from_millis(1_794_702_939_028);
        let cases = [
            ("or try again at 1:35 AM.", Some("2026-11-15T01:35:00Z")),
            ("Try again at 12:00 PM.", Some("2026-11-15T12:00:00Z")),
            ("Try again at 12:05 AM.", Some("2026-11-15T00:05:00Z")),
            ("Try again at Nov 17th, 2026 1:35 PM.", Some("2026-11-17T13:35:00Z")),
            ("Try again at Feb 30th, 2026 1:35 PM.", None),
            ("Try again at 13:35 PM.", None),
            ("Try again at noon.", None),
            ("Try again later.", None),
        ];
        for (message, expected) in cases {
            let said = parse_reset_time(message, now, &TimeZone::UTC).map(|time| {
                let millis = i64::try_from(time.as_millis()).unwrap();
                Timestamp::from_millisecond(millis).unwrap().to_string()
            });
            assert_eq!(said.as_deref(), expected, "{message}");
        }
    }
}

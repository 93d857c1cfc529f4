//! Formats points in time for people: time ago, time until, and clock times.

use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
pub(crate) use unstuck_core::text::brief::render_duration;
use unstuck_core::time::{Span, Time};

/// Age below which no number is shown.
const NOW: Span = Span::from_secs(10);

/// Formats a past time, such as `just now` or `12 min ago`.
pub(crate) fn render_ago(at: Time, now: Time) -> String {
    let span = now.since(at);
    if span < NOW { "just now".to_owned() } else { format!("{} ago", render_duration(span)) }
}

/// Formats a future time, such as `07:12 (in 4 min)`, or `now` once it has come.
pub(crate) fn render_until(at: Time, now: Time) -> String {
    if at <= now {
        "now".to_owned()
    } else {
        format!("{} (in {})", render_clock(at, now), render_duration(at.since(now)))
    }
}

/// Formats the local date and time of an event: `15 Nov 07:12:09`.
pub(crate) fn render_stamp(at: Time) -> String {
    render_local(at, "%d %b %H:%M:%S")
}

/// Formats the local date and time to the minute: `15 Nov 07:12`.
pub(crate) fn render_minute(at: Time) -> String {
    render_local(at, "%d %b %H:%M")
}

/// Formats the local time of day to the second: `07:12:09`.
pub(crate) fn render_second(at: Time) -> String {
    render_local(at, "%H:%M:%S")
}

/// Returns 23:00 local time on the first evening of the Unix epoch, which belongs to no real night.
pub(crate) fn first_evening() -> Time {
    let evening = date(1970, 1, 1).at(23, 0, 0, 0).to_zoned(TimeZone::system());
    let millis = evening.map(|at| at.timestamp().as_millisecond()).unwrap_or_default();
    Time::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// Formats the local time of day, with the weekday for a time that is 12 hours or more away.
fn render_clock(at: Time, now: Time) -> String {
    let near = at.since(now) < Span::from_hours(12);
    render_local(at, if near { "%H:%M" } else { "%a %H:%M" })
}

/// Formats a time in the local time zone; a time outside the calendar's range is shown as milliseconds.
fn render_local(at: Time, form: &str) -> String {
    let millis = i64::try_from(at.as_millis()).ok();
    match millis.and_then(|millis| Timestamp::from_millisecond(millis).ok()) {
        Some(at) => at.to_zoned(TimeZone::system()).strftime(form).to_string(),
        None => at.as_millis().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_and_the_future_are_told_from_now() {
        let now = Time::from_millis(1_800_000_000_000);
        assert_eq!(render_ago(now, now), "just now");
        assert_eq!(render_ago(now + Span::from_hours(1), now), "just now");
        assert_eq!(render_ago(now - Span::from_mins(12), now), "12 min ago");
        assert_eq!(render_until(now, now), "now");
        assert!(render_until(now + Span::from_mins(4), now).ends_with(" (in 4 min)"));
    }

    #[test]
    fn a_time_beyond_every_calendar_is_still_shown() {
        assert_eq!(render_stamp(Time::from_millis(u64::MAX)), u64::MAX.to_string());
    }
}

//! Cron lines: five fields that describe times on the clocks of a time zone.
//!
//! If the clocks change, a time that does not exist is moved to the end of the gap, and one that
//! occurs twice counts once. A line that names no hours keeps its interval through both, because it
//! is about elapsed time rather than about the time of day.

use jiff::civil::{Date, DateTime, time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::field::{CronValues, DAY, HOUR, MINUTE, MONTH, WEEKDAY};
use super::schedule::ScheduleError;

/// Maximum number of months to search: the rarest line, a weekday that falls on one day of one
/// month, occurs within it.
const MONTHS_MAX: u32 = 40 * 12;
/// Maximum number of clock changes within that time.
const CHANGES_MAX: u32 = 1_000;
/// The day from which a line is checked for ever occurring; any would do.
const ANY_DAY: Date = jiff::civil::date(2000, 1, 1);

/// Lines that have a name.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A parsed cron line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CronLine {
    pub(super) minutes: CronValues,
    pub(super) hours: CronValues,
    pub(super) days: CronValues,
    pub(super) months: CronValues,
    pub(super) weekdays: CronValues,
    /// Set if days of the month and of the week are both restricted: then either is enough.
    pub(super) either: bool,
}

impl CronLine {
    /// Parses a line of five fields, or the name of one.
    pub(super) fn parse_line(text: &str) -> Result<Self, ScheduleError> {
        let named = |(name, _): &&(&str, &str)| text.eq_ignore_ascii_case(name);
        let line = match NAMED.iter().find(named) {
            Some((_, line)) => line,
            None if text.starts_with('@') => return Err(ScheduleError::Name(text.to_owned())),
            None => text,
        };
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(ScheduleError::Fields(fields.len()));
        };
        let any = |field: &str| field.starts_with(['*', '?']);
        let cron = Self {
            minutes: MINUTE.parse_values(minute)?,
            hours: HOUR.parse_values(hour)?,
            days: DAY.parse_values(day)?,
            months: MONTH.parse_values(month)?,
            weekdays: WEEKDAY.parse_values(weekday)?,
            either: !any(day) && !any(weekday),
        };
        let first = cron.first_match_from(ANY_DAY.to_datetime(time(0, 0, 0, 0)));
        first.map(|_| cron).ok_or(ScheduleError::Never)
    }

    /// Returns whether the line is about elapsed time rather than about hours of the day.
    pub(super) const fn is_every_hour(&self) -> bool {
        self.hours.count() == HOUR.value_count()
    }

    /// Returns the next time after `after`, on the clocks of `zone`.
    pub(super) fn next_time_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut offset = zone.to_offset(after);
        let mut from = next_minute(offset.to_datetime(after))?;
        if let Some(again) =
            repeated_hour_end(after, offset, zone).filter(|_| !self.is_every_hour())
        {
            from = from.max(again);
        }
        let mut found = self.first_match_from(from)?;
        let mut at = after;
        for _ in 0..CHANGES_MAX {
            let Some(change) = zone.following(at).next() else {
                return offset.to_timestamp(found).ok();
            };
            let turn = change.timestamp();
            let then = change.offset();
            if offset.to_timestamp(found).ok()? < turn {
                return offset.to_timestamp(found).ok();
            }
            let before = offset.to_datetime(turn);
            let behind = then.to_datetime(turn);
            let mut from = behind;
            if before < behind && found < behind && !self.is_every_hour() {
                // The clocks skip this time.
                return Some(turn);
            }
            if before > behind && !self.is_every_hour() {
                // The clocks show this hour for the second time.
                from = before;
            }
            if found < from || before > behind {
                found = self.first_match_from(from)?;
            }
            (offset, at) = (then, turn);
        }
        None
    }

    /// Returns the first matching calendar time at or after `from`, which is rounded up to a whole
    /// minute.
    fn first_match_from(&self, from: DateTime) -> Option<DateTime> {
        let from = round_up_to_minute(from)?;
        let mut date = from.date();
        if self.is_on_day(date)
            && let Some(time) = self.first_time_from(from.hour(), from.minute())
        {
            return Some(date.at(time.0, time.1, 0, 0));
        }
        let (hour, minute) = self.first_time_from(0, 0)?;
        date = date.tomorrow().ok()?;
        for _ in 0..MONTHS_MAX {
            if self.months.contains(to_unsigned(date.month())) {
                while !self.is_on_day(date) && date != date.last_of_month() {
                    date = date.tomorrow().ok()?;
                }
                if self.is_on_day(date) {
                    return Some(date.at(hour, minute, 0, 0));
                }
            }
            date = date.last_of_month().tomorrow().ok()?;
        }
        None
    }

    /// Returns whether the line matches a day.
    pub(super) fn is_on_day(&self, date: Date) -> bool {
        let day = self.days.contains(to_unsigned(date.day()));
        let weekday = to_unsigned(date.weekday().to_sunday_zero_offset());
        let weekday = self.weekdays.contains(weekday);
        let fits = if self.either { day || weekday } else { day && weekday };
        fits && self.months.contains(to_unsigned(date.month()))
    }

    /// Returns the first matching time of day at or after this one.
    fn first_time_from(&self, hour: i8, minute: i8) -> Option<(i8, i8)> {
        let hour = to_unsigned(hour);
        let minute = to_unsigned(minute);
        let this_hour = self.hours.contains(hour).then(|| self.minutes.next_from(minute)).flatten();
        let (hour, minute) = match this_hour {
            Some(minute) => (hour, minute),
            None => (self.hours.next_from(hour + 1)?, self.minutes.next_from(0)?),
        };
        Some((i8::try_from(hour).ok()?, i8::try_from(minute).ok()?))
    }
}

/// Returns the end of the repeated hour, in local time, if `at` lies in one.
fn repeated_hour_end(at: Timestamp, offset: Offset, zone: &TimeZone) -> Option<DateTime> {
    let since = at.checked_add(SignedDuration::from_nanos(1)).ok()?;
    let turn = zone.preceding(since).next()?.timestamp();
    let before = zone.to_offset(turn.checked_sub(SignedDuration::from_nanos(1)).ok()?);
    let until = before.to_datetime(turn);
    (until > offset.to_datetime(at)).then_some(until)
}

/// Returns the start of the next minute.
fn next_minute(at: DateTime) -> Option<DateTime> {
    let this = at.date().at(at.hour(), at.minute(), 0, 0);
    this.checked_add(SignedDuration::from_mins(1)).ok()
}

fn round_up_to_minute(at: DateTime) -> Option<DateTime> {
    let this = at.date().at(at.hour(), at.minute(), 0, 0);
    if this == at { Some(at) } else { next_minute(at) }
}

/// Converts a calendar number, which is never negative.
fn to_unsigned(number: i8) -> u8 {
    number.unsigned_abs()
}

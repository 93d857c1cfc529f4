//! Cron lines: five fields that describe times on the clocks of a time zone.
//!
//! If the clocks change, a time that does not exist is moved to the end of the gap, and one that
//! occurs twice counts once. A line that names no hours keeps its interval through both, because it
//! is about elapsed time rather than about the time of day.

use jiff::civil::{Date, DateTime, time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::schedule_error::ScheduleError;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: CronField = CronField { name: "minute", min: 0, max: 59, names: &[] };
const HOUR: CronField = CronField { name: "hour", min: 0, max: 23, names: &[] };
pub(super) const DAY: CronField =
    CronField { name: "day of the month", min: 1, max: 31, names: &[] };
pub(super) const MONTH: CronField = CronField { name: "month", min: 1, max: 12, names: &MONTHS };
/// The day of the week; Sunday is both 0 and 7.
pub(super) const WEEKDAY: CronField =
    CronField { name: "day of the week", min: 0, max: 7, names: &WEEKDAYS };
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

/// The definition of a field: its lowest and highest value, and their names.
#[derive(Debug)]
pub(super) struct CronField {
    /// The field's name in error messages.
    pub(super) name: &'static str,
    min: u8,
    max: u8,
    /// Names of the values, from the lowest on.
    names: &'static [&'static str],
}

/// A set of a field's values, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CronValues(u64);

impl CronValues {
    pub(super) const fn contains(self, value: u8) -> bool {
        value < 64 && self.0 & (1 << value) != 0
    }

    /// Returns the lowest value at or after `from`.
    pub(super) fn next_from(self, from: u8) -> Option<u8> {
        let left = self.0.checked_shr(u32::from(from)).unwrap_or(0);
        (left != 0).then(|| from + u8::try_from(left.trailing_zeros()).unwrap_or(u8::MAX))
    }

    pub(super) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |value| self.contains(*value))
    }

    const fn with_value(self, value: u8) -> Self {
        Self(self.0 | 1 << value)
    }
}

impl CronField {
    /// Parses the text of the field.
    fn parse_values(&self, text: &str) -> Result<CronValues, ScheduleError> {
        let mut values = CronValues::default();
        for part in text.split(',') {
            values = self.parse_part(part, values)?;
        }
        // Sunday has two numbers.
        if self.max == 7 && values.contains(7) {
            values = CronValues(values.with_value(0).0 & !(1 << 7));
        }
        Ok(values)
    }

    /// Returns the number of distinct values.
    pub(super) const fn value_count(&self) -> u32 {
        if self.max == 7 { 7 } else { (self.max - self.min + 1) as u32 }
    }

    fn parse_part(&self, part: &str, mut values: CronValues) -> Result<CronValues, ScheduleError> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(self.parse_step(part, step)?)),
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*" | "?", _) => (self.min, if self.max == 7 { 6 } else { self.max }),
            (_, Some((from, to))) => self.parse_range(part, from, to)?,
            // A single value with a step stands for all values from it on.
            (one, None) => {
                let from = self.parse_value(part, one)?;
                (from, if step.is_some() { self.max } else { from })
            }
        };
        for value in (from..=to).step_by(usize::from(step.unwrap_or(1))) {
            values = values.with_value(value);
        }
        Ok(values)
    }

    fn parse_range(&self, part: &str, from: &str, to: &str) -> Result<(u8, u8), ScheduleError> {
        let from = self.parse_value(part, from)?;
        let mut to = self.parse_value(part, to)?;
        // A range such as Friday to Sunday ends with the week.
        if self.max == 7 && to == 0 && from > 0 {
            to = 7;
        }
        if from > to {
            let instead = format!("{from}-{},{}-{to}", self.last_value(), self.min);
            return Err(ScheduleError::Backwards {
                field: self.name,
                part: part.to_owned(),
                instead,
            });
        }
        Ok((from, to))
    }

    const fn last_value(&self) -> u8 {
        if self.max == 7 { 6 } else { self.max }
    }

    fn parse_step(&self, part: &str, step: &str) -> Result<u8, ScheduleError> {
        let step = parse_digits(step).filter(|step| (1..=self.max).contains(step));
        step.ok_or_else(|| self.invalid_part(part))
    }

    fn parse_value(&self, part: &str, text: &str) -> Result<u8, ScheduleError> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + self.min);
        let value = named.or_else(|| parse_digits(text));
        let value = value.filter(|value| (self.min..=self.max).contains(value));
        value.ok_or_else(|| self.invalid_part(part))
    }

    fn invalid_part(&self, part: &str) -> ScheduleError {
        let field = self.name;
        ScheduleError::Field { field, part: part.to_owned(), min: self.min, max: self.max }
    }
}

/// Parses a text that consists of digits only.
fn parse_digits(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

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

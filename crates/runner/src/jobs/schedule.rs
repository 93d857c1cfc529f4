//! The schedule of a job: an interval, or a cron line.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unstuck_core::time::{Span, Time};

use super::cron::CronLine;
use super::words;

/// Minimum time between two runs.
const INTERVAL_MIN: Span = Span::from_secs(1);
/// Maximum time between two runs: more is a mistyped number.
const INTERVAL_MAX: Span = Span::from_hours(366 * 24);
/// Maximum length of a schedule's text in bytes.
const TEXT_BYTES_MAX: usize = 512;

/// The schedule of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    written: String,
    when: ScheduleRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScheduleRule {
    Every(Span),
    Cron(CronLine),
}

/// The reason for which a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The text is neither an interval nor a cron line.
    #[error("{0:?} is no schedule")]
    Unknown(String),
    /// The text is too long to be a schedule.
    #[error("a schedule has at most {TEXT_BYTES_MAX} bytes")]
    TooLong,
    /// The interval is too short or too long.
    #[error("the time between two runs is from a second to a year")]
    Interval,
    /// The number of fields is not five.
    #[error("a cron line has five fields, and this has {0}")]
    Fields(usize),
    /// The name is not that of a known cron line.
    #[error("there is no schedule {0}")]
    Name(String),
    /// A value is not in the range of its field.
    #[error("{part:?} is no {field}: they go from {min} to {max}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The text in question.
        part: String,
        /// The lowest value of the field.
        min: u8,
        /// The highest value of the field.
        max: u8,
    },
    /// A range ends before it begins.
    #[error("{part:?} ends before it begins, as {field}")]
    Backwards {
        /// The name of the field.
        field: &'static str,
        /// The text in question.
        part: String,
        /// The correct notation for what was meant.
        instead: String,
    },
    /// No calendar has such a day.
    #[error("this day never comes")]
    Never,
}

impl ScheduleError {
    /// Returns a suggestion for the correct notation.
    pub fn hint(&self) -> String {
        match self {
            Self::Backwards { instead, .. } => format!("write {instead}"),
            Self::Never => "check the day and the month: no month has such a day".to_owned(),
            Self::Interval => "write it as \"every 5 minutes\" or \"2h\"".to_owned(),
            Self::Name(_) => "there are @hourly, @daily, @weekly, @monthly and @yearly".to_owned(),
            Self::Unknown(_) | Self::TooLong | Self::Fields(_) | Self::Field { .. } => {
                "write \"every 5 minutes\", \"2h\", or a cron line: minute, hour, day, month, \
                 weekday, such as \"0 3 * * 1-5\""
                    .to_owned()
            }
        }
    }
}

impl Schedule {
    /// Parses a schedule, such as `every 5 minutes`, `2h`, `0 3 * * 1-5` or `@daily`.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let written = text.trim();
        if written.len() > TEXT_BYTES_MAX {
            return Err(ScheduleError::TooLong);
        }
        let when = match parse_interval(written) {
            Some(every) if (INTERVAL_MIN..=INTERVAL_MAX).contains(&every) => {
                ScheduleRule::Every(every)
            }
            Some(_) => return Err(ScheduleError::Interval),
            None if is_cron_line(written) => ScheduleRule::Cron(CronLine::parse_line(written)?),
            None => return Err(ScheduleError::Unknown(written.to_owned())),
        };
        Ok(Self { written: written.to_owned(), when })
    }

    /// Returns the schedule as it was written.
    pub fn as_written(&self) -> &str {
        &self.written
    }

    /// Returns the first time after `after`: for an interval counted from there, for a cron line on
    /// the clocks of `zone`.
    pub fn next_after(&self, after: Time, zone: &TimeZone) -> Option<Time> {
        match &self.when {
            ScheduleRule::Every(every) => Some(after + *every),
            ScheduleRule::Cron(cron) => {
                let millis = i64::try_from(after.as_millis()).ok()?;
                let next = cron.next_time_after(Timestamp::from_millisecond(millis).ok()?, zone)?;
                u64::try_from(next.as_millisecond()).ok().map(Time::from_millis)
            }
        }
    }

    /// Returns the time between two runs; `None` for a cron line.
    pub const fn fixed_interval(&self) -> Option<Span> {
        match self.when {
            ScheduleRule::Every(every) => Some(every),
            ScheduleRule::Cron(_) => None,
        }
    }
}

/// Formats the schedule in words, such as `every 5 minutes` or `at 03:00 on weekdays`.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.when {
            ScheduleRule::Every(every) => f.write_str(&words::render_interval(*every)),
            ScheduleRule::Cron(cron) => match words::render_cron(cron) {
                Some(said) => f.write_str(&said),
                None => write!(f, "at the times of “{}”", self.written),
            },
        }
    }
}

/// Returns whether the text is meant as a cron line: a name, or about as many fields as one has.
fn is_cron_line(text: &str) -> bool {
    let begins = |first: char| first.is_ascii_digit() || matches!(first, '*' | '?');
    text.starts_with('@') || text.starts_with(begins) && text.split_whitespace().count() > 3
}

/// Parses an interval such as `every 5 minutes`, `every hour` or `1h 30m`.
fn parse_interval(text: &str) -> Option<Span> {
    let lower = text.to_lowercase();
    let said = lower.strip_prefix("every").filter(|rest| rest.starts_with(char::is_whitespace));
    let rest = said.unwrap_or(&lower).trim();
    if said.is_some()
        && let Some(unit) = parse_unit(rest)
    {
        return Some(unit);
    }
    let mut sum = Span::ZERO;
    let mut rest = rest;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let after = rest[digits..].trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        sum = sum.saturating_add(parse_unit(&after[..letters])?.saturating_mul(number));
        rest = after[letters..].trim_start();
    }
    (sum != Span::ZERO || !lower.is_empty()).then_some(sum)
}

fn parse_unit(name: &str) -> Option<Span> {
    Some(match name {
        "ms" => Span::from_millis(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Span::from_secs(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Span::from_mins(1),
        "h" | "hour" | "hours" => Span::from_hours(1),
        "d" | "day" | "days" => Span::from_hours(24),
        "w" | "week" | "weeks" => Span::from_hours(7 * 24),
        _ => return None,
    })
}

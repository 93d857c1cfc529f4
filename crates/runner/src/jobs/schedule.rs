//! The schedule of a job, an interval or a cron line, and its description in words.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use unstuck_core::time::{Span, Time};

use super::cron::{CronLine, CronValues, DAY, MONTH, WEEKDAY};
use super::schedule_error::{ScheduleError, TEXT_BYTES_MAX};

/// Minimum time between two runs.
const INTERVAL_MIN: Span = Span::from_secs(1);
/// Maximum time between two runs: more is a mistyped number.
const INTERVAL_MAX: Span = Span::from_hours(366 * 24);
/// Maximum number of times of a day, or days of a month, that are listed.
const LISTED_MAX: u32 = 4;
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
];

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
            ScheduleRule::Every(every) => f.write_str(&render_interval(*every)),
            ScheduleRule::Cron(cron) => match render_cron(cron) {
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

/// Formats an interval in the largest unit that it is a whole number of, such as `every 5 minutes`.
fn render_interval(span: Span) -> String {
    let millis = span.as_millis();
    let units = [
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
        (1, "millisecond"),
    ];
    let fits = units.into_iter().find(|(unit, _)| millis.is_multiple_of(*unit));
    let (unit, name) = fits.unwrap_or((1, "millisecond"));
    match millis / unit {
        1 => format!("every {name}"),
        many => format!("every {many} {name}s"),
    }
}

/// Describes a cron line; `None` if there are no plain words for it.
fn render_cron(cron: &CronLine) -> Option<String> {
    let days = describe_days(cron)?;
    let time = describe_times(cron)?;
    Some(match (time, days) {
        (TimeWords::Paced(pace), None) => pace,
        (TimeWords::Paced(pace), Some(days)) => format!("{pace} {days}"),
        (TimeWords::At(times), None) => format!("every day at {times}"),
        (TimeWords::At(times), Some(days)) => format!("at {times} {days}"),
    })
}

enum TimeWords {
    /// A recurring interval.
    Paced(String),
    /// Certain times of a day.
    At(String),
}

fn describe_times(cron: &CronLine) -> Option<TimeWords> {
    let CronLine { minutes, hours, .. } = cron;
    if cron.is_every_hour() {
        return describe_minutes(*minutes).map(TimeWords::Paced);
    }
    let first = hours.next_from(0)?;
    if minutes.count() > 1 {
        // A span of consecutive hours.
        let pace = describe_minutes(*minutes)?;
        let last = hours.iter().last()?;
        let in_a_row = u32::from(last - first) + 1 == hours.count();
        return in_a_row
            .then(|| TimeWords::Paced(format!("{pace} from {first:02}:00 to {last:02}:59")));
    }
    let minute = minutes.next_from(0)?;
    if let Some(step) = find_even_step(*hours, 24)
        && minute == 0
        && hours.count() > 2
    {
        return Some(TimeWords::Paced(render_interval(Span::from_hours(step.into()))));
    }
    let times = hours.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect();
    (hours.count() <= LISTED_MAX).then(|| TimeWords::At(join_names(times)))
}

/// Describes the minutes, such as `every 5 minutes`, `every hour` or `15 minutes past every hour`.
fn describe_minutes(minutes: CronValues) -> Option<String> {
    match (minutes.count(), minutes.next_from(0)?) {
        (1, 0) => Some("every hour".to_owned()),
        (1, 1) => Some("a minute past every hour".to_owned()),
        (1, minute) => Some(format!("{minute} minutes past every hour")),
        _ => find_even_step(minutes, 60).map(|step| render_interval(Span::from_mins(step.into()))),
    }
}

/// Returns the distance between values that begin at zero and divide `round` evenly.
fn find_even_step(values: CronValues, round: u8) -> Option<u8> {
    let step = round.checked_div(u8::try_from(values.count()).ok()?)?;
    let even = (0..round).all(|value| values.contains(value) == value.is_multiple_of(step.max(1)));
    even.then_some(step)
}

/// Describes the days; the inner `None` stands for every day.
#[expect(clippy::option_option, reason = "without words for it, and without need for any")]
fn describe_days(cron: &CronLine) -> Option<Option<String>> {
    let every_day = cron.days.count() == DAY.value_count();
    let any_weekday = cron.weekdays.count() == WEEKDAY.value_count();
    let months = (cron.months.count() < MONTH.value_count()).then(|| {
        let names = cron.months.iter().filter_map(|month| MONTHS.get(usize::from(month) - 1));
        format!("in {}", join_names(names.map(ToString::to_string).collect()))
    });
    let days = match (every_day, any_weekday) {
        (true, true) => None,
        (true, false) => Some(describe_weekdays(cron.weekdays)),
        (false, true) if cron.days.count() <= LISTED_MAX => {
            let of = if months.is_some() { "" } else { " of the month" };
            let days = cron.days.iter().map(format_ordinal).collect();
            Some(format!("on the {}{of}", join_names(days)))
        }
        // For both at once, or many days of a month, the line itself is clearer.
        (false, _) => return None,
    };
    let both: Vec<String> = days.into_iter().chain(months).collect();
    Some((!both.is_empty()).then(|| both.join(" ")))
}

fn describe_weekdays(days: CronValues) -> String {
    let all: Vec<u8> = days.iter().collect();
    match all[..] {
        [1, 2, 3, 4, 5] => "on weekdays".to_owned(),
        [0, 6] => "at weekends".to_owned(),
        _ => {
            // Readers expect a week to begin with Monday.
            let from_monday = all.iter().filter(|day| **day > 0).chain(all.iter().take(1));
            let mut names: Vec<String> = Vec::new();
            for day in from_monday {
                let name = WEEKDAYS[usize::from(*day) % WEEKDAYS.len()].to_owned();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            format!("on {}", join_names(names))
        }
    }
}

/// Formats an ordinal number, such as `1st` or `22nd`.
fn format_ordinal(day: u8) -> String {
    let ending = match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}

/// Joins names, such as `a, b and c`.
fn join_names(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

//! Descriptions of schedules in words.

use unstuck_core::time::Span;

use super::cron::CronLine;
use super::field::{CronValues, DAY, MONTH, WEEKDAY};

/// Maximum number of times of a day, or days of a month, that are listed.
const LISTED_MAX: u32 = 4;
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats an interval in the largest unit that it is a whole number of, such as `every 5 minutes`.
pub(super) fn render_interval(span: Span) -> String {
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
pub(super) fn render_cron(cron: &CronLine) -> Option<String> {
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
                let name = WEEKDAYS.get(usize::from(*day)).copied().unwrap_or_default().to_owned();
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

//! Tests of schedules on the calendars and clocks of real places: parsing, refusals, the
//! description in words, and the next time across clock changes and leap years.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use proptest::prelude::*;
use unstuck_core::time::{Span, Time};

use super::{Schedule, ScheduleError};

#[test]
fn schedules_are_read_and_said_in_words() {
    let cases = [
        ("every 5 minutes", "every 5 minutes"),
        ("Every minute", "every minute"),
        ("every hour", "every hour"),
        ("5m", "every 5 minutes"),
        ("90s", "every 90 seconds"),
        ("1h 30m", "every 90 minutes"),
        ("1h30m", "every 90 minutes"),
        ("2 hours", "every 2 hours"),
        ("every 7 days", "every 7 days"),
        ("1w", "every 7 days"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour"),
        ("15 * * * *", "15 minutes past every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("0 3 * * *", "every day at 03:00"),
        ("30 6,18 * * *", "every day at 06:30 and 18:30"),
        ("0 3 * * 1-5", "at 03:00 on weekdays"),
        ("0 3 * * MON-FRI", "at 03:00 on weekdays"),
        ("0 10 * * 6,7", "at 10:00 at weekends"),
        ("0 10 * * fri-sun", "at 10:00 on Friday, Saturday and Sunday"),
        ("0 9 1 * *", "at 09:00 on the 1st of the month"),
        ("0 9 1,15,22 * *", "at 09:00 on the 1st, 15th and 22nd of the month"),
        ("0 0 29 2 *", "at 00:00 on the 29th in February"),
        ("0 9 * jan,jul 1", "at 09:00 on Monday in January and July"),
        ("*/10 9-17 * * 1-5", "every 10 minutes from 09:00 to 17:59 on weekdays"),
        ("@daily", "every day at 00:00"),
        ("@Weekly", "at 00:00 on Sunday"),
        ("1-50/7 3 13 * 5", "at the times of “1-50/7 3 13 * 5”"),
    ];
    for (text, said) in cases {
        let schedule = Schedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(schedule.to_string(), said, "{text}");
        assert_eq!(schedule.as_written(), text);
    }
}

#[test]
fn what_is_no_schedule_is_refused_with_what_would_be_right() {
    let wrong = |text: &str| Schedule::parse(text).unwrap_err();
    for text in ["", "every", "soon", "every 5", "5 parsecs", "every monday", "-5m", "5", "1.5h"] {
        assert!(matches!(wrong(text), ScheduleError::Unknown(_)), "{text}: {:?}", wrong(text));
    }
    for text in ["0s", "every 0 minutes", "999ms", "99999999999999 days"] {
        assert_eq!(wrong(text), ScheduleError::Interval, "{text}");
    }
    assert_eq!(wrong("0 3 * *"), ScheduleError::Fields(4));
    assert_eq!(wrong("0 0 3 * * 1"), ScheduleError::Fields(6));
    assert_eq!(wrong("@reboot"), ScheduleError::Name("@reboot".to_owned()));
    for text in ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "* * * * x"] {
        assert!(matches!(wrong(text), ScheduleError::Field { .. }), "{text}");
    }
    for text in ["*/0 * * * *", "1, * * * *", "1- * * * *", "*/ * * * *"] {
        assert!(matches!(wrong(text), ScheduleError::Field { .. }), "{text}");
    }
    let night = wrong("0 22-6 * * *");
    assert_eq!(night.hint(), "write 22-23,0-6");
    for text in ["0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *"] {
        assert_eq!(wrong(text), ScheduleError::Never, "{text}");
    }
    assert_eq!(wrong(&"*".repeat(600)), ScheduleError::TooLong);
}

#[test]
fn an_interval_is_known_as_one() {
    assert_eq!(
        Schedule::parse("every 90 min").unwrap().fixed_interval(),
        Some(Span::from_mins(90))
    );
    assert_eq!(Schedule::parse("*/5 * * * *").unwrap().fixed_interval(), None);
}

/// The rules of these time zones, independent of the machine's database.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";
/// A zone with a clock change of half an hour, in the southern hemisphere.
const LORD_HOWE: &str = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";

fn zone(rules: &str) -> TimeZone {
    TimeZone::posix(rules).unwrap()
}

fn at(text: &str) -> Time {
    let at: Timestamp = text.parse().unwrap();
    Time::from_millis(u64::try_from(at.as_millisecond()).unwrap())
}

fn local(time: Time, zone: &TimeZone) -> Zoned {
    let millis = i64::try_from(time.as_millis()).unwrap();
    Timestamp::from_millisecond(millis).unwrap().to_zoned(zone.clone())
}

/// Returns the next times in local time, with their offset from UTC.
fn next_times(line: &str, rules: &str, after: &str, how_many: usize) -> Vec<String> {
    let schedule = Schedule::parse(line).unwrap();
    let zone = zone(rules);
    let mut times = Vec::new();
    let mut after = at(after);
    for _ in 0..how_many {
        after = schedule.next_after(after, &zone).unwrap();
        times.push(local(after, &zone).strftime("%Y-%m-%d %H:%M %:z").to_string());
    }
    times
}

#[test]
fn the_next_time_is_found_on_the_calendar() {
    let cases = [
        ("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02 03:00 +00:00"),
        ("0 3 * * *", "2026-01-01T02:59:59.999Z", "2026-01-01 03:00 +00:00"),
        ("* * * * *", "2026-01-01T00:00:30Z", "2026-01-01 00:01 +00:00"),
        ("0 3 * * 1-5", "2026-01-02T03:00:00Z", "2026-01-05 03:00 +00:00"),
        ("0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01 00:00 +00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29 00:00 +00:00"),
        ("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29 00:00 +00:00"),
        ("0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31 00:00 +00:00"),
        ("59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31 23:59 +00:00"),
        // With days of the month and of the week restricted, either is enough.
        ("0 0 13 * 5", "2026-02-13T00:00:00Z", "2026-02-20 00:00 +00:00"),
        ("0 0 13 * 5", "2026-04-10T00:00:00Z", "2026-04-13 00:00 +00:00"),
        // With a star in one of them, both have to match.
        ("0 0 */31 2 1", "2026-02-01T00:00:00Z", "2027-02-01 00:00 +00:00"),
    ];
    for (line, after, next) in cases {
        assert_eq!(next_times(line, "UTC0", after, 1), [next], "{line} after {after}");
    }
}

#[test]
fn a_time_that_does_not_exist_comes_right_after_the_gap() {
    let spring = next_times("30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", 2);
    assert_eq!(spring, ["2026-03-29 03:00 +02:00", "2026-03-30 02:30 +02:00"]);
    let spring = next_times("30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z", 2);
    assert_eq!(spring, ["2026-03-08 03:00 -04:00", "2026-03-09 02:30 -04:00"]);
    let spring = next_times("15 2 * * *", LORD_HOWE, "2026-10-03T00:00:00Z", 2);
    assert_eq!(spring, ["2026-10-04 02:30 +11:00", "2026-10-05 02:15 +11:00"]);
    // Several skipped times fire once.
    let spring = next_times("*/20 2-3 * * *", BERLIN, "2026-03-28T12:00:00Z", 3);
    let expected =
        ["2026-03-29 03:00 +02:00", "2026-03-29 03:20 +02:00", "2026-03-29 03:40 +02:00"];
    assert_eq!(spring, expected);
}

#[test]
fn a_time_that_comes_twice_counts_once() {
    let autumn = next_times("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", 2);
    assert_eq!(autumn, ["2026-10-25 02:30 +02:00", "2026-10-26 02:30 +01:00"]);
    let autumn = next_times("30 1 * * *", NEW_YORK, "2026-10-31T12:00:00Z", 2);
    assert_eq!(autumn, ["2026-11-01 01:30 -04:00", "2026-11-02 01:30 -05:00"]);
    // In the second hour the time has passed already, and is not reported as still to come.
    let autumn = next_times("30 2 * * *", BERLIN, "2026-10-25T01:10:00Z", 1);
    assert_eq!(autumn, ["2026-10-26 02:30 +01:00"]);
    let autumn = next_times("0 3 * * *", BERLIN, "2026-10-25T00:30:00Z", 1);
    assert_eq!(autumn, ["2026-10-25 03:00 +01:00"]);
}

#[test]
fn what_names_no_hour_keeps_its_pace_when_the_clocks_change() {
    let spring = next_times("30 * * * *", BERLIN, "2026-03-29T00:00:00Z", 3);
    let expected =
        ["2026-03-29 01:30 +01:00", "2026-03-29 03:30 +02:00", "2026-03-29 04:30 +02:00"];
    assert_eq!(spring, expected);
    let autumn = next_times("30 * * * *", BERLIN, "2026-10-25T00:00:00Z", 3);
    let expected =
        ["2026-10-25 02:30 +02:00", "2026-10-25 02:30 +01:00", "2026-10-25 03:30 +01:00"];
    assert_eq!(autumn, expected);
}

#[test]
fn an_interval_counts_from_the_last_time() {
    let schedule = Schedule::parse("every 5 minutes").unwrap();
    let last = at("2026-03-29T00:59:00Z");
    assert_eq!(schedule.next_after(last, &zone(BERLIN)), Some(last + Span::from_mins(5)));
}

#[test]
fn beyond_every_calendar_there_is_no_next_time() {
    let schedule = Schedule::parse("0 3 * * *").unwrap();
    assert_eq!(schedule.next_after(Time::from_millis(u64::MAX), &TimeZone::UTC), None);
    let last = Time::from_millis(253_402_207_200_000 - 1);
    assert_eq!(schedule.next_after(last, &TimeZone::UTC), None, "the last day of the calendar");
}

fn lines() -> impl Strategy<Value = String> {
    let field = |min: u8, max: u8| {
        prop_oneof![
            3 => Just("*".to_owned()),
            2 => (min..=max).prop_map(|value| value.to_string()),
            1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
            1 => (1..=max).prop_map(|step| format!("*/{step}")),
            1 => (min..=max, min..=max).prop_map(|(a, b)| format!("{a},{b}")),
        ]
    };
    (field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)).prop_map(
        |(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"),
    )
}

fn zones() -> impl Strategy<Value = TimeZone> {
    prop_oneof![Just(BERLIN), Just(NEW_YORK), Just(LORD_HOWE), Just("UTC0")].prop_map(zone)
}

/// Returns times from 2020 to 2040, often in a night in which the clocks change in Berlin.
fn moments() -> impl Strategy<Value = Time> {
    let around = 1_774_746_000_000_u64;
    let any = 1_577_836_800_000_u64..2_208_988_800_000_u64;
    prop_oneof![any, around - 7_200_000..around + 7_200_000].prop_map(Time::from_millis)
}

proptest! {
    #[test]
    fn the_next_time_is_later_and_nothing_is_left_out(
        line in lines(),
        zone in zones(),
        after in moments(),
    ) {
        let schedule = Schedule::parse(&line).unwrap();
        let next = schedule.next_after(after, &zone).unwrap();
        prop_assert!(next > after);
        // The same time is next from any point before it, so no other lies between.
        let before = after + Span::from_millis(next.since(after).as_millis() / 2);
        prop_assert_eq!(schedule.next_after(before, &zone), Some(next));
        let shown = local(next, &zone);
        prop_assert_eq!(shown.second(), 0);
        let cron = super::cron::CronLine::parse_line(&line).unwrap();
        let minute_before = local(next - Span::from_mins(1), &zone);
        let after_a_gap = shown.offset() > minute_before.offset();
        let fits = cron.is_on_day(shown.date())
            && cron.hours.contains(shown.hour().unsigned_abs())
            && cron.minutes.contains(shown.minute().unsigned_abs());
        prop_assert!(fits || after_a_gap, "{line}: {shown}");
    }

    #[test]
    fn anything_is_read_or_refused(text in "\\PC{0,40}", after in moments()) {
        if let Ok(schedule) = Schedule::parse(&text) {
            let next = schedule.next_after(after, &TimeZone::UTC);
            prop_assert!(next.is_none_or(|next| next > after));
            prop_assert!(!schedule.to_string().is_empty());
        }
    }
}

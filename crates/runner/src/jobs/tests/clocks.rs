//! Tests of the next time across clock changes and leap years.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use proptest::prelude::*;
use unstuck_core::time::{Span, Time};

use crate::jobs::Schedule;

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
        let cron = super::super::cron::CronLine::parse_line(&line).unwrap();
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

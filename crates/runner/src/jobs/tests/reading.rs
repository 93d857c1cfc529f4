//! Tests of parsing, of refusals, and of the description in words.

use unstuck_core::time::Span;

use crate::jobs::{Schedule, ScheduleError};

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

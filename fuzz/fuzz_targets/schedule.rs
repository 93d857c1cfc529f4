//! Any text can be read as a schedule: what is one comes again, later than now, on every clock, and
//! can be said in words; what is none says what would be right.
#![no_main]

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use unstuck_core::time::Time;
use unstuck_runner::jobs::Schedule;

/// Clocks that change in spring and autumn, on both halves of the world, and by half an hour.
const CLOCKS: [&str; 4] = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
];

fuzz_target!(|input: (&str, u64)| {
    let (text, after) = input;
    let after = Time::from_millis(after);
    match Schedule::parse(text) {
        Ok(schedule) => {
            assert!(!schedule.to_string().is_empty());
            assert_eq!(Schedule::parse(schedule.as_written()), Ok(schedule.clone()));
            for clock in CLOCKS {
                let zone = TimeZone::posix(clock).unwrap();
                if let Some(next) = schedule.next_after(after, &zone) {
                    assert!(
                        next > after || schedule.fixed_interval().is_some(),
                        "{text} at {clock}"
                    );
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
    }
});

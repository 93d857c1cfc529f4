//! Deadlines end what takes too long, and say which one it was.

use std::time::Duration;

use unstuck_world::process::{Deadline, ProcessDeadlines, ProcessEnd};

use super::launches::{Stage, run};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_mins(10);

// B7: in part; what an agent is allowed to take long for is decided elsewhere.
#[test]
fn each_deadline_ends_what_it_is_for() {
    let none = ProcessDeadlines::default();
    let cases = [
        ("sleep 1000", ProcessDeadlines { first_byte: Some(SHORT), ..none }, Deadline::FirstByte),
        ("sleep 1000", ProcessDeadlines { idle: Some(SHORT), ..none }, Deadline::Idle),
        (
            "echo x; sleep 1000",
            ProcessDeadlines { first_byte: Some(LONG), idle: Some(SHORT), total: Some(LONG) },
            Deadline::Idle,
        ),
        (
            "while :; do echo x >&2; done",
            ProcessDeadlines { first_byte: Some(LONG), idle: Some(LONG), total: Some(SHORT) },
            Deadline::Total,
        ),
    ];
    for (script, deadlines, which) in cases {
        let stage = Stage::new();
        let mut launch = stage.script(script);
        launch.deadlines = deadlines;
        assert_eq!(run(launch).how, ProcessEnd::TimedOut { which, limit: SHORT }, "{script}");
    }
}

// B7: a quiet program without an idle deadline is left alone, and so is one that is in time.
#[test]
fn a_deadline_that_does_not_pass_changes_nothing() {
    let deadlines =
        ProcessDeadlines { first_byte: Some(LONG), idle: Some(LONG), total: Some(LONG) };
    for deadlines in [ProcessDeadlines::default(), deadlines] {
        let stage = Stage::new();
        let mut launch = stage.script("exec 2>&-; exec >&-; exit 4");
        launch.deadlines = deadlines;
        assert_eq!(run(launch).how, ProcessEnd::Exited(4));
    }
}

#[test]
fn a_deadline_beyond_the_end_of_time_is_none() {
    let stage = Stage::new();
    let mut launch = stage.script("exit 4");
    launch.deadlines =
        ProcessDeadlines { total: Some(Duration::MAX), ..ProcessDeadlines::default() };
    assert_eq!(run(launch).how, ProcessEnd::Exited(4));
}

//! `unstuck log`: what happened, and what happens.

use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use unstuck_core::engine::Command;

use crate::shop::{JOB, Shop, without_clock, without_times};

/// The program as it goes on.
struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn new(shop: &Shop, args: &[&str]) -> Self {
        let mut command = shop.command(&[&["log", "--follow"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads events up to a position; they are all there, once each.
    fn read(&mut self, positions: impl Iterator<Item = u64>) {
        for expected in positions {
            let line = self.lines.next().unwrap().unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(event["seq"], expected, "{line}");
        }
    }

    /// Ends it from the keyboard; nothing more was written.
    fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        assert_eq!(self.lines.next().map(Result::unwrap), None);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((self.child.wait().unwrap().code(), said.as_str()), (Some(130), ""));
    }
}

/// The events that it writes as JSON.
fn events(shop: &Shop, args: &[&str]) -> Vec<Value> {
    let ran = shop.unstuck(&[&["log", "--json"], args].concat());
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn positions(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn each_event_is_one_plain_line() {
    let shop = Shop::left_alone();
    let ran = shop.unstuck(&["log", "-n", "1000"]);
    insta::assert_snapshot!(without_clock(&ran.to_string()));
}

#[test]
fn as_json_each_event_stands_in_its_envelope() {
    let mut events = events(&Shop::left_alone(), &["-n", "1000"]);
    let mut first_of_each: Vec<Value> = Vec::new();
    for event in &mut events {
        assert_eq!(event["project"], "shop");
        without_times(event);
        event["data"] = "(data)".into();
        if !first_of_each.iter().any(|known| known["type"] == event["type"]) {
            first_of_each.push(event.take());
        }
    }
    insta::assert_json_snapshot!(first_of_each);
}

#[test]
fn positions_have_no_gap_and_a_part_can_be_had() {
    let shop = Shop::left_alone();
    let newest = shop.newest();
    assert!(newest > 50, "{newest}");
    let all: Vec<u64> = (1..=newest).collect();
    let from = |args: &[&str]| positions(&events(&shop, args));
    assert_eq!(from(&["--after", "0"]), all);
    assert_eq!(from(&[]), all[all.len() - 50..]);
    for lines in [0, 1, 2, 7] {
        assert_eq!(from(&["-n", &lines.to_string()]), all[all.len() - lines..], "{lines}");
    }
    assert_eq!(from(&["--after", &(newest - 3).to_string()]), all[all.len() - 3..]);
    assert_eq!(from(&["--after", &newest.to_string()]), Vec::<u64>::new());
}

/// The fields of an event that a program from long ago knows.
#[derive(Deserialize)]
struct Known {
    seq: u64,
    #[serde(rename = "type")]
    kind: String,
    task: Option<u64>,
}

// T4.32: kinds and fields that it does not know do not disturb it.
#[test]
fn a_reader_that_knows_little_reads_everything() {
    let shop = Shop::left_alone();
    let ran = shop.unstuck(&["log", "--json", "--after", "0"]);
    let read = |line| serde_json::from_str::<Known>(line).unwrap();
    let known: Vec<Known> = ran.stdout.lines().map(read).collect();
    assert!(known.iter().map(|known| known.seq).eq(1..=shop.newest()));
    let begun = known.iter().filter(|known| known.kind == "run.started");
    let begun: Vec<u64> = begun.filter_map(|known| known.task).collect();
    assert!(begun.len() > 3 && begun.len() < known.len() / 2, "{begun:?}");
}

#[test]
fn where_nothing_happened_nothing_is_written() {
    let ran = Shop::new().unstuck(&["log"]);
    assert_eq!((ran.exit, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn what_happens_is_told_once_each_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    let before = shop.newest();
    let mut following = Following::new(&shop, &["--json", "--after", "0"]);
    following.read(1..=before);
    // It has read all there was; now more happens, one thing at a time and many at once.
    shop.send(&night, Command::Forget { signature: None });
    following.read(before + 1..=before + 1);
    for _ in 0..40 {
        shop.send(&night, Command::Forget { signature: None });
    }
    following.read(before + 2..=before + 41);
    following.interrupt();
    shop.let_go(night);
}

#[test]
fn a_process_that_takes_the_project_up_later_is_found() {
    let shop = Shop::left_alone();
    let before = shop.newest();
    let mut following = Following::new(&shop, &["--json", "-n", "1"]);
    following.read(before..=before);
    let night = shop.hold();
    shop.send(&night, Command::Kick { task: JOB });
    shop.let_go(night);
    let after = shop.newest();
    assert!(after > before);
    following.read(before + 1..=after);
    // And the next one.
    let night = shop.hold();
    shop.send(&night, Command::Forget { signature: None });
    shop.let_go(night);
    following.read(after + 1..=shop.newest());
    following.interrupt();
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let shop = Shop::left_alone();
    let mut following = Following::new(&shop, &["-n", "1"]);
    assert!(following.lines.next().unwrap().is_ok());
    drop(following.lines);
    let mut said = String::new();
    following.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((following.child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

//! The processes that recovery ends, and those that it leaves alone.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use unstuck_world::process::reap_run;

use super::launches::{Stage, runtime, start};

const PATIENCE: Duration = Duration::from_mins(1);

/// A program that runs until its input ends, with a mark of our choosing.
fn marked(mark: &Path) -> Child {
    let mut command = Command::new("cat");
    command.env("UNSTUCK_GUARD", mark).stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn only_what_carries_exactly_this_mark_is_killed() {
    let stage = Stage::new();
    let lock = stage.directory().join("lock");
    let mut ours = marked(&lock);
    let mut others = [marked(&stage.directory().join("lock2")), marked(&stage.directory())];
    drop(reap_run(&stage.lock(), PATIENCE).unwrap());
    assert_eq!(ours.wait().unwrap().code(), None);
    for other in &mut others {
        drop(other.stdin.take());
        assert_eq!(other.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_lock_that_is_in_use_is_not_taken_and_nothing_is_killed() {
    let stage = Stage::new();
    let runtime = runtime();
    let process = start(&runtime, stage.script("exec 9>alive; sleep 1000"));
    let mut alive = stage.alive();
    let refused = reap_run(&stage.lock(), Duration::ZERO).unwrap_err();
    assert!(refused.message.contains("is still held"), "{refused}");
    assert!(!alive.has_ended());
    drop(process);
    drop(reap_run(&stage.lock(), PATIENCE).unwrap());
    assert!(alive.has_ended());
}

#[test]
fn nothing_is_started_while_a_run_is_cleared_away() {
    let stage = Stage::new();
    let lock = reap_run(&stage.lock(), Duration::ZERO).unwrap();
    // Two that do the same do not disturb each other.
    drop(reap_run(&stage.lock(), Duration::ZERO).unwrap());
    assert!(runtime().block_on(stage.program("true").start()).is_err());
    drop(lock);
    assert!(runtime().block_on(stage.program("true").start()).is_ok());
}

#[test]
fn a_note_in_a_lock_file_ends_no_other_group() {
    let stage = Stage::new();
    std::fs::write(stage.lock(), "/sys/fs/cgroup/unified").unwrap();
    drop(reap_run(&stage.lock(), Duration::ZERO).unwrap());
}

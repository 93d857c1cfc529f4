//! Processes that are killed without a word.

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use unstuck_testkit::stage::FifoReader;

use crate::program::OutputText as _;
use crate::project::Project;

/// Writes without a pause at its first run, from a session of its own; at the second it looks how
/// much that has come to.
const WRITES: &str = "echo $UNSTUCK_RETRY >>tries; [ -f again ] && { wc -c <writes >size; exit 0; }; \
    touch again; exec 9>alive; \
    setsid sh -c 'echo more >>writes; echo up >&9; while :; do echo more >>writes; done' & \
    echo up >&9; while :; do sleep 1000; done";

fn killed(stage: &Project) -> FifoReader {
    stage.fifo("alive");
    let exec = stage.start_exec(&["--name", "job"], WRITES);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(2);
    exec.signal(Signal::KILL);
    assert_eq!(exec.wait().signal(), Some(9));
    alive
}

fn goes_on_alone(stage: &Project, mut alive: FifoReader) {
    assert!(alive.has_ended());
    let size: usize = stage.wrote("size").trim().parse().unwrap();
    assert_eq!(stage.wrote("writes").len(), size, "it was written to after the next one began");
    assert_eq!(stage.wrote("tries"), "0\n1\n");
    assert_eq!(stage.job("job").moved.firing, 1);
    assert_eq!(stage.crashes(), [false]);
}

// B13, T3.12: the old tree is gone before the script is run again, from the top.
#[test]
fn the_next_one_makes_sure_that_nothing_is_left() {
    let stage = Project::new();
    let alive = killed(&stage);
    stage.run_exec(&["--name", "job"], WRITES).exits(0);
    goes_on_alone(&stage, alive);
}

// B13: a guest beside the holder of the project does the same.
#[test]
fn a_guest_makes_sure_that_nothing_is_left() {
    let stage = Project::new();
    let alive = killed(&stage);
    stage.fifos(&["up", "go"]);
    let other = stage.start_exec(&["--name", "other"], "echo >up; read line <go");
    stage.hear("up");
    stage.run_exec(&["--name", "job"], WRITES).exits(0);
    stage.let_go("go");
    assert_eq!(other.wait().code(), Some(0));
    goes_on_alone(&stage, alive);
}

// B13: a guest that is killed leaves no more behind than a holder.
#[test]
fn a_killed_guest_is_taken_up_like_a_holder() {
    let stage = Project::new();
    stage.fifos(&["up", "go"]);
    let other = stage.start_exec(&["--name", "other"], "echo >up; read line <go");
    stage.hear("up");
    let alive = killed(&stage);
    stage.run_exec(&["--name", "job"], WRITES).exits(0);
    stage.let_go("go");
    assert_eq!(other.wait().code(), Some(0));
    goes_on_alone(&stage, alive);
}

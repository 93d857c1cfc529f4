//! Ends of a command that come from outside: time, a signal, a person at the keyboard.

use rustix::process::Signal;
use unstuck_core::fault::Code;
use unstuck_testkit::stage::FifoReader;

use crate::program::OutputText as _;
use crate::project::Project;

/// Hangs at its first run, with a child in a session of its own, and works at the second.
const HANGS_ONCE: &str = "echo $UNSTUCK_RETRY >>tries; [ -f hung ] && exit 0; touch hung; \
    exec 9>alive; setsid sh -c 'echo up >&9; sleep 1000' & echo up >&9; sleep 1000";

#[test]
fn a_timeout_ends_the_whole_tree() {
    let stage = Project::new();
    stage.fifo("alive");
    let exec = stage.start_exec(&["--name", "job", "--timeout", "1s"], HANGS_ONCE);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(2);
    let (status, _, said) = exec.read_to_end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(alive.has_ended());
    let fault = stage.runs("job")[0].fault.clone().unwrap();
    assert_eq!(fault.code(), Code::OperationTimeout);
}

#[test]
fn asked_to_end_it_ends_its_tree_first() {
    let stage = Project::new();
    stage.fifo("alive");
    let exec = stage.start_exec(&["--name", "job"], HANGS_ONCE);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(2);
    exec.signal(Signal::TERM);
    assert_eq!(exec.wait().code(), Some(143));
    assert!(alive.has_ended());
    ended_without_a_charge(&stage);
}

// Ctrl-C reaches the command and us at the same time.
#[test]
fn an_interrupt_from_the_keyboard_is_no_fault() {
    let stage = Project::new();
    stage.fifo("alive");
    let exec = stage.start_exec(&["--name", "job"], HANGS_ONCE);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(2);
    exec.signal_group(Signal::INT);
    assert_eq!(exec.wait().code(), Some(130));
    assert!(alive.has_ended());
    ended_without_a_charge(&stage);
}

#[test]
fn asked_twice_it_ends_at_once() {
    let stage = Project::new();
    stage.fifo("alive");
    let script = "trap '' TERM; exec 9>alive; echo up >&9; while :; do sleep 1000; done";
    let mut exec = stage.start_exec(&["--name", "job"], script);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(1);
    exec.signal(Signal::TERM);
    exec.read_until("Press Ctrl-C again to stop immediately.");
    exec.signal(Signal::TERM);
    assert_eq!(exec.wait().code(), Some(143));
}

/// Ended while it waits for a person: the question stays.
#[test]
fn asked_to_end_while_a_person_is_waited_for() {
    let stage = Project::new();
    let script = "echo 'fatal: Authentication failed' >&2; exit 1";
    let mut exec = stage.start_exec(&["--name", "job"], script);
    exec.read_until("It waits here for your answer.");
    exec.signal(Signal::TERM);
    assert_eq!(exec.wait().code(), Some(143));
    assert_eq!(stage.crashes(), [false; 0]);
    assert_eq!(
        stage.run_exec(&["--name", "job", "--max-wait", "0"], script).status.code(),
        Some(3)
    );
}

fn ended_without_a_charge(stage: &Project) {
    stage.run_exec(&["--name", "job"], HANGS_ONCE).exits(0);
    assert_eq!(stage.job("job").moved.firing, 1);
    assert!(stage.runs("job").iter().all(|run| run.fault.is_none()));
    assert_eq!(stage.crashes(), [true]);
}

//! Ends of a command that come from outside: time, a signal, a person at the keyboard.

use rustix::process::Signal;
use unstuck_core::fault::Code;

use super::stage::{Alive, Stage, text};

/// Hangs at its first run, with a child in a session of its own, and works at the second.
const HANGS_ONCE: &str = "echo $UNSTUCK_RETRY >>tries; [ -f hung ] && exit 0; touch hung; \
    exec 9>alive; setsid sh -c 'echo up >&9; sleep 1000' & echo up >&9; sleep 1000";

#[test]
fn a_timeout_ends_the_whole_tree() {
    let stage = Stage::new();
    stage.fifo("alive");
    let exec = stage.start(&["--name", "job", "--timeout", "1s"], HANGS_ONCE);
    let mut alive = Alive::of(&stage.path("alive"));
    alive.hear(2);
    let (status, _, said) = exec.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(alive.none_left());
    let fault = stage.runs("job")[0].fault.clone().unwrap();
    assert_eq!(fault.code(), Code::OperationTimeout);
}

#[test]
fn asked_to_end_it_ends_its_tree_first() {
    let stage = Stage::new();
    stage.fifo("alive");
    let exec = stage.start(&["--name", "job"], HANGS_ONCE);
    let mut alive = Alive::of(&stage.path("alive"));
    alive.hear(2);
    exec.signal(Signal::TERM);
    assert_eq!(exec.status().code(), Some(143));
    assert!(alive.none_left());
    ended_without_a_charge(&stage);
}

// Ctrl-C reaches the command and us at the same time.
#[test]
fn an_interrupt_from_the_keyboard_is_no_fault() {
    let stage = Stage::new();
    stage.fifo("alive");
    let exec = stage.start(&["--name", "job"], HANGS_ONCE);
    let mut alive = Alive::of(&stage.path("alive"));
    alive.hear(2);
    exec.signal_group(Signal::INT);
    assert_eq!(exec.status().code(), Some(130));
    assert!(alive.none_left());
    ended_without_a_charge(&stage);
}

#[test]
fn asked_twice_it_ends_at_once() {
    let stage = Stage::new();
    stage.fifo("alive");
    let script = "trap '' TERM; exec 9>alive; echo up >&9; while :; do sleep 1000; done";
    let mut exec = stage.start(&["--name", "job"], script);
    let mut alive = Alive::of(&stage.path("alive"));
    alive.hear(1);
    exec.signal(Signal::TERM);
    exec.hear("Once more to end at once.");
    exec.signal(Signal::TERM);
    assert_eq!(exec.status().code(), Some(143));
}

/// Ended while it waits for a person: the question stays.
#[test]
fn asked_to_end_while_a_person_is_waited_for() {
    let stage = Stage::new();
    let script = "echo 'fatal: Authentication failed' >&2; exit 1";
    let mut exec = stage.start(&["--name", "job"], script);
    exec.hear("It waits here for your answer.");
    exec.signal(Signal::TERM);
    assert_eq!(exec.status().code(), Some(143));
    assert_eq!(stage.crashes(), [false; 0]);
    assert_eq!(stage.run(&["--name", "job", "--max-wait", "0"], script).status.code(), Some(3));
}

fn ended_without_a_charge(stage: &Stage) {
    let ran = stage.run(&["--name", "job"], HANGS_ONCE);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert_eq!(stage.job("job").moved.firing, 1);
    assert!(stage.runs("job").iter().all(|run| run.fault.is_none()));
    assert_eq!(stage.crashes(), [true]);
}

//! Supervisors and guards that are killed, and what happens to their trees.
//!
//! The supervisor is this test program, run once more for the one test that plays it.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use unstuck_testkit::stage::FifoReader;
use unstuck_world::process::{ProcessEnd, ProcessInput, ProcessOutput, TerminalSession, reap_run};

use super::launches::{HARD_TREE, HARD_TREE_LINES, Stage, run};

/// Tells the supervisor where its stage is, and what to run there.
const STAGE: &str = "UNSTUCK_TEST_STAGE";
const SCRIPT: &str = "UNSTUCK_TEST_SCRIPT";

const PATIENCE: Duration = Duration::from_mins(1);

#[test]
#[ignore = "it plays the supervisor for the tests below"]
fn supervisor() {
    let (Some(stage), Some(script)) = (std::env::var_os(STAGE), std::env::var_os(SCRIPT)) else {
        return;
    };
    let mut launch = Stage::at(stage).script(script.to_str().unwrap());
    launch.input = ProcessInput::Inherit;
    launch.output = ProcessOutput::PassThrough;
    launch.session = TerminalSession::Caller;
    // A killed supervisor cannot give a grace period: the tree gets none of it.
    launch.grace = PATIENCE * 10;
    run(launch);
}

fn supervise(stage: &Stage, script: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["process::killed::supervisor", "--exact", "--ignored", "--nocapture"])
        .env(STAGE, stage.directory())
        .env(SCRIPT, script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn hard_tree(stage: &Stage) -> (Child, FifoReader) {
    let supervisor = supervise(stage, HARD_TREE);
    let mut alive = stage.alive();
    alive.read_lines(HARD_TREE_LINES);
    (supervisor, alive)
}

// B13
#[test]
fn nothing_outlives_a_killed_supervisor() {
    let stage = Stage::new();
    let (mut supervisor, mut alive) = hard_tree(&stage);
    supervisor.kill().unwrap();
    let lock = reap_run(&stage.lock(), PATIENCE).unwrap();
    // With the lock in hand no process is left that could write.
    assert!(alive.has_ended());
    drop(lock);
    supervisor.wait().unwrap();
}

// B13, B46: the guard needs no help for it, and waits for nothing.
#[test]
fn a_guard_ends_its_tree_by_itself() {
    let stage = Stage::new();
    let (mut supervisor, alive) = hard_tree(&stage);
    supervisor.kill().unwrap();
    alive.read_to_end();
    supervisor.wait().unwrap();
}

// B13
#[test]
fn nothing_outlives_a_supervisor_and_a_guard_killed_together() {
    let stage = Stage::new();
    let (mut supervisor, mut alive) = hard_tree(&stage);
    // Stopped first, so that neither sees the other go.
    kill_process(Pid::from_child(&supervisor), Signal::STOP).unwrap();
    kill_process(alive.pid("guard"), Signal::KILL).unwrap();
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(!alive.has_ended());
    let lock = reap_run(&stage.lock(), PATIENCE).unwrap();
    assert!(alive.has_ended());
    drop(lock);
}

#[test]
fn a_guard_killed_alone_is_told_and_its_tree_ended() {
    let (_stage, runtime, process, mut alive) = Stage::running(HARD_TREE);
    alive.read_lines(HARD_TREE_LINES);
    kill_process(alive.pid("guard"), Signal::KILL).unwrap();
    let ended = runtime.block_on(process.wait());
    assert!(alive.has_ended());
    assert_eq!(ended.how, ProcessEnd::Lost { tree_gone: true });
}

#[test]
fn a_guard_asked_to_end_ends_its_tree_first() {
    let (_stage, runtime, process, mut alive) = Stage::running(HARD_TREE);
    alive.read_lines(HARD_TREE_LINES);
    kill_process(alive.pid("guard"), Signal::TERM).unwrap();
    let ended = runtime.block_on(process.wait());
    assert!(alive.has_ended());
    assert_eq!(ended.how, ProcessEnd::Stopped);
}

#[test]
fn what_a_terminal_sends_does_not_end_a_guard_before_its_tree() {
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT] {
        let stage = Stage::new();
        let script = format!("trap '' TERM INT HUP QUIT\n{HARD_TREE}");
        let mut supervisor = supervise(&stage, &script);
        let mut alive = stage.alive();
        alive.read_lines(HARD_TREE_LINES);
        // It reaches the supervisor, which dies of it, the guard and the program.
        kill_process_group(Pid::from_child(&supervisor), signal).unwrap();
        alive.read_to_end();
        supervisor.wait().unwrap();
    }
}

#[test]
fn what_is_read_and_written_passes_through_unchanged() {
    let stage = Stage::new();
    let mut supervisor = supervise(&stage, "cat");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut stdin = supervisor.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let stdout = supervisor.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    // The test harness writes a few words before and after.
    let from = stdout.windows(256).position(|window| window == &bytes[..256]).unwrap();
    assert!(stdout[from..].starts_with(&bytes));
}

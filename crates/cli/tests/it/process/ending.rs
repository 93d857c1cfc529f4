//! Programs end, and nothing is left of them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use unstuck_world::process::{
    Deadline, Launch, ProcessDeadlines, ProcessEnd, StartFailure, TerminalSession,
};

use super::launches::{HARD_TREE, HARD_TREE_LINES, Stage, has_content, run, runtime, start, text};

#[test]
fn an_exit_status_and_a_signal_are_facts() {
    let stage = Stage::new();
    for status in [0, 1, 7, 75, 127, 255] {
        assert_eq!(stage.run(&format!("exit {status}")).how, ProcessEnd::Exited(status));
    }
    for signal in [1, 2, 6, 9, 11, 15] {
        assert_eq!(stage.run(&format!("kill -{signal} $$")).how, ProcessEnd::Signalled(signal));
    }
}

#[test]
fn a_program_that_cannot_start_says_why() {
    let stage = Stage::new();
    let how = |launch: Launch| run(launch).how;
    std::fs::write(stage.path("plain.txt"), "no program").unwrap();
    let missing = stage.program("no-such-program-anywhere");
    assert_eq!(how(missing), ProcessEnd::NotStarted(StartFailure::NotFound));
    let mut missing = stage.program("no-such-program-anywhere");
    // A directory that may not be looked into does not turn "not there" into "denied".
    let closed = stage.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let search = format!("{}:/usr/bin:/bin", closed.display());
    missing.environment = vec![("PATH".into(), Some(search.into()))];
    assert_eq!(how(missing), ProcessEnd::NotStarted(StartFailure::NotFound));
    let plain = stage.program(stage.path("plain.txt").to_str().unwrap());
    assert_eq!(how(plain), ProcessEnd::NotStarted(StartFailure::AccessDenied));
    let mut nowhere = stage.program("true");
    nowhere.directory = stage.path("nowhere");
    assert_eq!(how(nowhere), ProcessEnd::NotStarted(StartFailure::DirectoryMissing));
}

// TX15
#[test]
fn a_timeout_ends_children_in_sessions_of_their_own_and_daemons() {
    for grace in [Duration::ZERO, Duration::from_millis(20)] {
        let stage = Stage::new();
        let mut launch = stage.script(HARD_TREE);
        launch.grace = grace;
        let limit = Duration::from_millis(1);
        launch.deadlines = ProcessDeadlines { total: Some(limit), ..ProcessDeadlines::default() };
        let runtime = runtime();
        let process = start(&runtime, launch);
        let mut alive = stage.alive();
        alive.read_lines(HARD_TREE_LINES);
        let ended = runtime.block_on(process.wait());
        // At the moment of the report no process is left that could write.
        assert!(alive.has_ended());
        assert_eq!(ended.how, ProcessEnd::TimedOut { which: Deadline::Total, limit });
    }
}

// TX15: what was running really wrote until then.
#[test]
fn a_cancel_ends_the_tree_however_often_it_is_asked_for() {
    let (stage, runtime, process, mut alive) = Stage::running(HARD_TREE);
    alive.read_lines(HARD_TREE_LINES);
    while !has_content(&stage.path("writes")) {
        std::thread::yield_now();
    }
    let stopper = process.stopper();
    stopper.stop();
    stopper.stop();
    let ended = runtime.block_on(process.wait());
    assert!(alive.has_ended());
    assert_eq!(ended.how, ProcessEnd::Stopped);
    stopper.stop();
}

#[test]
fn dropping_a_process_ends_its_tree() {
    let (_stage, _runtime, process, mut alive) = Stage::running(HARD_TREE);
    alive.read_lines(HARD_TREE_LINES);
    let stopper = process.stopper();
    drop(process);
    alive.read_to_end();
    drop(stopper);
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_counted() {
    let stage = Stage::new();
    let script = "exec 9>alive; sleep 1000 & setsid sleep 1000 & (sleep 1000 &); exit 3";
    let runtime = runtime();
    for grace in [Duration::ZERO, Duration::from_mins(1)] {
        let mut launch = stage.script(script);
        launch.grace = grace;
        let process = start(&runtime, launch);
        let mut alive = stage.alive();
        let ended = runtime.block_on(process.wait());
        assert!(alive.has_ended());
        assert_eq!((ended.how, ended.leftovers_ended), (ProcessEnd::Exited(3), 3));
    }
    assert_eq!(stage.run("sleep 0 & wait").leftovers_ended, 0);
}

#[test]
fn a_leaked_stream_does_not_keep_us_waiting() {
    let stage = Stage::new();
    let ended = stage.run("setsid sleep 1000 & echo done");
    assert_eq!((ended.how, text(&ended).as_str()), (ProcessEnd::Exited(0), "done\n"));
}

#[test]
fn a_tree_that_listens_gets_its_time() {
    let stage = Stage::new();
    // Nothing is started any more once both have spoken: a shell that is just starting something
    // may lose the signal.
    let mut launch = stage.script(
        "exec 9>alive; trap 'echo bye; exit 0' TERM; sh -c 'echo up >&9; exec sleep 1000' & \
         echo ready >&9; wait; wait",
    );
    launch.grace = Duration::from_mins(1);
    let runtime = runtime();
    let process = start(&runtime, launch);
    let mut alive = stage.alive();
    alive.read_lines(2);
    process.stopper().stop();
    let ended = runtime.block_on(process.wait());
    assert_eq!((ended.how, text(&ended).as_str()), (ProcessEnd::Stopped, "bye\n"));
}

#[test]
fn a_program_may_signal_its_group_without_ending_its_guard() {
    let stage = Stage::new();
    let ended =
        stage.run("mkfifo up; setsid sh -c 'echo >up; exec sleep 1000' & read line <up; kill -9 0");
    assert_eq!((ended.how, ended.leftovers_ended), (ProcessEnd::Signalled(9), 1));
}

#[test]
fn a_held_lock_is_refused_and_free_again_when_the_tree_is_gone() {
    let stage = Stage::new();
    let runtime = runtime();
    let process = start(&runtime, stage.script("exec 9>alive; sleep 1000"));
    let mut alive = stage.alive();
    let refused = runtime.block_on(stage.program("true").start()).unwrap_err();
    assert!(refused.message.contains("is held"), "{refused}");
    process.stopper().stop();
    runtime.block_on(process.wait());
    assert!(alive.has_ended());
    assert_eq!(run(stage.program("true")).how, ProcessEnd::Exited(0));
}

#[test]
fn a_lock_that_cannot_be_made_is_an_error_of_ours() {
    let stage = Stage::new();
    let mut launch = stage.program("true");
    launch.lock = stage.path("nowhere/lock");
    let refused = runtime().block_on(launch.start()).unwrap_err();
    assert!(refused.message.contains("cannot be used"), "{refused}");
}

#[test]
fn what_is_no_guard_is_found_out() {
    let stage = Stage::new();
    let mut launch = stage.program("true");
    launch.guard.executable = "true".into();
    let refused = runtime().block_on(launch.start()).unwrap_err();
    assert!(refused.message.contains("is no guard"), "{refused}");
    let mut launch = stage.program("true");
    launch.guard.executable = stage.path("nowhere");
    assert!(runtime().block_on(launch.start()).is_err());
}

/// Without the two signals that the C library keeps for itself: whether they are ignored depends on
/// which of its calls started the program.
fn with_own_signals(said: &str) -> String {
    const OF_THE_LIBRARY: u64 = 0x1_8000_0000;
    let own = |line: &str| match line.strip_prefix("SigIgn:\t") {
        Some(set) => format!("{:x}", u64::from_str_radix(set, 16).unwrap() & !OF_THE_LIBRARY),
        None => line.to_owned(),
    };
    said.lines().map(own).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_program_finds_what_it_would_find_without_us() {
    let stage = Stage::new();
    // Open files, traps and signals that are blocked, ignored or handled.
    let script = "ls /proc/self/fd; trap; grep '^Sig[BIC]' /proc/self/status";
    let bare = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output().unwrap();
    let bare = String::from_utf8(bare.stdout).unwrap();
    assert_eq!(with_own_signals(&text(&stage.run(script))), with_own_signals(&bare));
}

#[test]
fn a_program_gets_the_environment_it_should() {
    let stage = Stage::new();
    let mut launch = stage.script("echo $UNSTUCK_GUARD $NEW ${HOME-none}");
    launch.environment = vec![("NEW".into(), Some("value".into())), ("HOME".into(), None)];
    let lock = stage.directory().join("lock");
    assert_eq!(text(&run(launch)), format!("{} value none\n", lock.display()));
}

#[test]
fn one_run_inside_another_carries_the_marks_of_both() {
    let stage = Stage::new();
    let mut launch = stage.script("echo $UNSTUCK_GUARD");
    let own = std::mem::replace(&mut launch.guard.executable, "env".into());
    launch.guard.arguments.splice(0..0, ["UNSTUCK_GUARD=/outer".into(), own.into()]);
    launch.session = TerminalSession::Caller;
    let lock = stage.directory().join("lock");
    assert_eq!(text(&run(launch)), format!("/outer:{}\n", lock.display()));
}

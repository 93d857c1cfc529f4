//! `kill -9` while an action is under way.

use rustix::process::{Pid, Signal, kill_process};

use crate::program::OutputText as _;
use crate::project::Project;

/// Charges, says so, and hangs at its first try.
const CHARGE: &str = "echo $PPID >guard; [ -f early ] || echo x >>charges; echo sent >up; \
                      [ -f again ] && exit 0; touch again; sleep 1000";
const PROBE: &str = "--settle 0 --probe 'echo look >>looks; [ -s charges ] && echo found'";

fn script(probe: &str) -> String {
    format!("unstuck mutate --key charge {probe} -- sh charge.sh; s=$?; echo $s >>ended; exit $s")
}

fn stage() -> Project {
    let stage = Project::new();
    std::fs::write(stage.path("charge.sh"), CHARGE).unwrap();
    stage.fifo("up");
    stage
}

// TX6, T3.12: everything dies at once; the next one looks first.
#[test]
fn the_next_process_looks_before_anything_is_sent() {
    let stage = stage();
    let exec = stage.start_exec(&["--name", "pay"], &script(PROBE));
    assert_eq!(stage.hear("up"), "sent\n");
    exec.signal(Signal::KILL);
    exec.wait();
    let ran = stage.run_exec(&["--name", "pay"], &script(PROBE));
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "found\n"), "{}", ran.err());
    assert_eq!((stage.wrote("charges").as_str(), stage.wrote("looks").as_str()), ("x\n", "look\n"));
    assert!(stage.wrote("ended").ends_with("0\n"), "{}", stage.wrote("ended"));
}

// T3.12: the same without a probe.
#[test]
fn without_a_probe_a_person_is_asked_and_nothing_is_sent() {
    let stage = stage();
    let exec = stage.start_exec(&["--name", "pay"], &script(""));
    stage.hear("up");
    exec.signal(Signal::KILL);
    exec.wait();
    let options = ["--name", "pay", "--max-wait", "0"];
    assert_eq!(stage.run_exec(&options, &script("")).status.code(), Some(3));
    assert_eq!(stage.wrote("charges"), "x\n");
    assert!(stage.answer(&stage.question(), "it_happened").status.success());
    stage.run_exec(&options, &script("")).exits(0);
    assert_eq!(stage.wrote("charges"), "x\n");
    assert!(stage.wrote("ended").ends_with("0\n"), "{}", stage.wrote("ended"));
}

// TX6: only the one in the middle dies; its command goes with it, and the script hears of it.
#[test]
fn a_sender_that_is_killed_takes_its_command_along_and_is_looked_after() {
    let stage = stage();
    let script = format!(
        "{}; s=$?",
        script(PROBE).replace("unstuck mutate", "echo $$ >me; exec unstuck mutate")
    );
    let script = format!(
        "sh -c '{}'; s=$?; echo $s >>ended; [ $s = 0 ] || exit 75",
        script.replace('\'', "'\\''")
    );
    let exec = stage.start_exec(&["--name", "pay"], &script);
    stage.hear("up");
    let me: i32 = stage.wrote("me").trim().parse().unwrap();
    kill_process(Pid::from_raw(me).unwrap(), Signal::KILL).unwrap();
    let (status, out, said) = exec.read_to_end();
    assert_eq!(status.code(), Some(0), "{out} {said}");
    assert_eq!((stage.wrote("charges").as_str(), stage.wrote("looks").as_str()), ("x\n", "look\n"));
}

// TX6, B18: outside of any run.
#[test]
fn alone_it_is_looked_up_by_the_next_one_with_the_same_key() {
    let stage = stage();
    let mut args = vec!["mutate", "--key", "charge", "--settle", "0"];
    args.extend(["--probe", "echo look >>looks; [ -s charges ] && echo found"]);
    args.extend(["--", "sh", "charge.sh"]);
    let mut first = stage.unstuck(&args).spawn().unwrap();
    stage.hear("up");
    first.kill().unwrap();
    first.wait().unwrap();
    let ran = stage.unstuck(&args).output().unwrap();
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "found\n"), "{}", ran.err());
    assert_eq!((stage.wrote("charges").as_str(), stage.wrote("looks").as_str()), ("x\n", "look\n"));
}

//! Several processes in one project: one holds it, the others sit beside it.

use rustix::process::Signal;
use unstuck_testkit::stage::{FifoReader, RunningProgram};

use crate::program::OutputText as _;
use crate::project::Project;

/// A script that says it is up and ends when it is let go.
fn held(stage: &Project, name: &str) -> RunningProgram {
    let (up, go) = (format!("{name}-up"), format!("{name}-go"));
    stage.fifo(&up);
    stage.fifo(&go);
    let script = format!("echo run >>{name}-runs; echo >{up}; read line <{go}; echo {name} done");
    let exec = stage.start_exec(&["--name", name], &script);
    stage.hear(&up);
    exec
}

fn ends(stage: &Project, name: &str, exec: RunningProgram) {
    stage.let_go(&format!("{name}-go"));
    let (status, out, said) = exec.read_to_end();
    assert_eq!((status.code(), out), (Some(0), format!("{name} done\n")), "{said}");
    assert_eq!(stage.wrote(&format!("{name}-runs")), "run\n", "{name} was started once");
}

#[test]
fn a_guest_comes_and_goes() {
    let stage = Project::new();
    let (a, b) = (held(&stage, "a"), held(&stage, "b"));
    ends(&stage, "b", b);
    ends(&stage, "a", a);
    assert_eq!(stage.crashes(), [false; 0]);
}

#[test]
fn a_holder_that_ends_disturbs_no_guest() {
    let stage = Project::new();
    let (a, b, c) = (held(&stage, "a"), held(&stage, "b"), held(&stage, "c"));
    ends(&stage, "a", a);
    assert!(stage.run_exec(&["--name", "d"], "true").status.success());
    ends(&stage, "c", c);
    ends(&stage, "b", b);
    assert_eq!(stage.crashes(), [false; 0]);
}

#[test]
fn a_holder_that_is_killed_disturbs_no_guest() {
    let stage = Project::new();
    let (a, b, c) = (held(&stage, "a"), held(&stage, "b"), held(&stage, "c"));
    a.signal(Signal::KILL);
    let _ = a.wait();
    assert!(stage.run_exec(&["--name", "d"], "true").status.success());
    ends(&stage, "b", b);
    ends(&stage, "c", c);
    assert_eq!(stage.crashes(), [false; 0]);
}

#[test]
fn a_holder_that_is_asked_to_end_disturbs_no_guest() {
    let stage = Project::new();
    let (a, b) = (held(&stage, "a"), held(&stage, "b"));
    a.signal(Signal::TERM);
    assert_eq!(a.wait().code(), Some(143));
    ends(&stage, "b", b);
}

#[test]
fn a_guest_that_is_asked_to_end_ends_its_tree_first() {
    let stage = Project::new();
    stage.fifo("alive");
    let a = held(&stage, "a");
    let script = "[ -f hung ] && exit 0; touch hung; exec 9>alive; \
                  setsid sh -c 'echo up >&9; sleep 1000' & echo up >&9; sleep 1000";
    let guest = stage.start_exec(&["--name", "job"], script);
    let mut alive = FifoReader::open(&stage.path("alive"));
    alive.read_lines(2);
    guest.signal(Signal::TERM);
    assert_eq!(guest.wait().code(), Some(143));
    assert!(alive.has_ended());
    stage.run_exec(&["--name", "job"], script).exits(0);
    assert_eq!(stage.crashes(), [true]);
    assert!(stage.runs("job").iter().all(|run| run.fault.is_none()));
    ends(&stage, "a", a);
}

// B18: the holder of the project takes up an answer for a guest, too.
#[test]
fn a_guest_waits_for_a_person_like_a_holder() {
    let stage = Project::new();
    let a = held(&stage, "a");
    let script = "[ -f login ] || { echo 'fatal: Authentication failed' >&2; exit 1; }";
    let mut guest = stage.start_exec(&["--name", "job"], script);
    guest.read_until("It waits here for your answer.");
    std::fs::write(stage.path("login"), "").unwrap();
    assert!(stage.answer(&stage.question(), "provide_credentials").status.success());
    let (status, _, said) = guest.read_to_end();
    assert_eq!(status.code(), Some(0), "{said}");
    ends(&stage, "a", a);
}

// The one that comes second wants its command run from now on, not the result of an earlier one.
#[test]
fn the_same_name_twice_takes_turns() {
    let stage = Project::new();
    let first = held(&stage, "a");
    let mut second = stage.start_exec(&["--name", "a"], "echo second >>a-runs; echo mine");
    second.read_until("is being run already");
    assert_eq!(stage.wrote("a-runs"), "run\n");
    stage.let_go("a-go");
    assert_eq!(first.wait().code(), Some(0));
    let (status, out, said) = second.read_to_end();
    assert_eq!((status.code(), out.as_str()), (Some(0), "mine\n"), "{said}");
    assert_eq!(stage.wrote("a-runs"), "run\nsecond\n");
    assert_eq!(stage.job("a").moved.firing, 2);
    assert_eq!(stage.crashes(), [false; 0]);
}

#[test]
fn a_waiter_for_its_turn_can_be_asked_to_end() {
    let stage = Project::new();
    let first = held(&stage, "a");
    let mut second = stage.start_exec(&["--name", "a"], "echo second >>a-runs");
    second.read_until("is being run already");
    second.signal(Signal::TERM);
    assert_eq!(second.wait().code(), Some(143));
    ends(&stage, "a", first);
}

// The first is killed: its turn is taken up by the second, with the second's command.
#[test]
fn a_waiter_for_its_turn_takes_up_what_a_killed_one_left() {
    let stage = Project::new();
    let first = held(&stage, "a");
    let mut second = stage.start_exec(&["--name", "a"], "echo second >>a-runs");
    second.read_until("is being run already");
    first.signal(Signal::KILL);
    let _ = first.wait();
    assert_eq!(second.wait().code(), Some(0));
    assert_eq!(stage.wrote("a-runs"), "run\nsecond\n");
    assert_eq!(stage.job("a").moved.firing, 1);
}

// The waiter is the first to come to the project that is free now, but the guest lives.
#[test]
fn a_waiter_for_a_guest_lets_it_finish_when_the_holder_is_killed() {
    let stage = Project::new();
    let (holder, guest) = (held(&stage, "h"), held(&stage, "a"));
    let mut waiter = stage.start_exec(&["--name", "a"], "echo second >>a-runs");
    waiter.read_until("is being run already");
    guest.signal(Signal::STOP);
    holder.signal(Signal::KILL);
    let _ = holder.wait();
    assert!(stage.run_exec(&["--name", "d"], "true").status.success());
    guest.signal(Signal::CONT);
    stage.let_go("a-go");
    let (status, out, said) = guest.read_to_end();
    assert_eq!((status.code(), out.as_str()), (Some(0), "a done\n"), "{said}");
    assert_eq!(waiter.wait().code(), Some(0));
    assert_eq!(stage.wrote("a-runs"), "run\nsecond\n");
    assert_eq!(stage.job("a").moved.firing, 2);
    assert_eq!(stage.crashes(), [false; 0]);
}

/// Many at once, all new, all with the same name: each is run.
#[test]
fn a_crowd_gets_its_turns() {
    let stage = Project::new();
    let crowd: Vec<RunningProgram> =
        (0..6).map(|_| stage.start_exec(&["--name", "a", "--quiet"], "echo run >>runs")).collect();
    for exec in crowd {
        let (status, _, said) = exec.read_to_end();
        assert_eq!(status.code(), Some(0), "{said}");
    }
    assert_eq!(stage.wrote("runs").lines().count(), 6);
    assert_eq!(stage.crashes().iter().filter(|clean| !**clean).count(), 0);
}

/// Many at once with names of their own.
#[test]
fn a_crowd_of_strangers_gets_along() {
    let stage = Project::new();
    let name = |n: u32| format!("job-{n}");
    let crowd: Vec<RunningProgram> = (0..8)
        .map(|n| {
            stage.start_exec(&["--name", &name(n), "--quiet"], &format!("echo run >>runs-{n}"))
        })
        .collect();
    for exec in crowd {
        let (status, _, said) = exec.read_to_end();
        assert_eq!(status.code(), Some(0), "{said}");
    }
    for n in 0..8 {
        assert_eq!(stage.wrote(&format!("runs-{n}")), "run\n", "{n}");
    }
    assert_eq!(stage.crashes().iter().filter(|clean| !**clean).count(), 0);
}

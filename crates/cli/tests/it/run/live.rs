//! A run at a terminal: a picture that is drawn in place, and keys.

use rustix::process::Signal;

use crate::project::Project;
use crate::pty::Pty;

const SLOW: &str = r#"{say = "I am looking around."}, {run = "echo up > ../../../up; cat ../../../go"}, {write = "work/a.txt", text = "fine\n"}"#;

fn stage() -> Project {
    let stage = Project::with_agent("write-a", &[SLOW]);
    stage.fifo("up");
    stage.fifo("go");
    stage
}

#[test]
fn a_task_is_one_line_that_changes_and_the_end_stays() {
    let stage = stage();
    let mut run = Pty::start(stage.unstuck(&["run", "write a"]), 80, 24);
    stage.hear("up");
    run.until("I am looking around.");
    std::fs::write(stage.path("go"), "").unwrap();
    run.until("1 of 1 task done");
    let (status, seen) = run.end();
    assert!(status.success(), "{status}: {seen}");
}

// TX12: paused is 4
#[test]
fn a_key_pauses_it_and_it_goes_on_later() {
    let stage = stage();
    let mut run = Pty::start(stage.unstuck(&["run", "write a"]), 60, 24);
    stage.hear("up");
    run.until("p pause");
    run.press("p");
    let (status, seen) = run.end();
    assert_eq!(status.code(), Some(4), "{seen}");
    let resumed = stage.start(&["resume"]);
    stage.hear("up");
    std::fs::write(stage.path("go"), "").unwrap();
    assert_eq!(resumed.end().0, Some(0));
}

#[test]
fn a_question_is_answered_where_it_comes_up() {
    let stage = Project::with_agent("paint-it", &[r#"{blocked = "which colour?"}"#]);
    let mut run = Pty::start(stage.unstuck(&["run", "paint it"]), 80, 30);
    run.until("a answer");
    run.press("a");
    run.until("1 question waits for you");
    run.press("\r");
    run.until("Question q0");
    run.press("\x1b[B\x1b[B\x1b[B");
    run.press("\r");
    run.until("0 of 1 task done");
    let (status, seen) = run.end();
    assert_eq!(status.code(), Some(1), "{seen}");
}

#[test]
fn a_window_of_twenty_columns_and_ctrl_c_leave_the_terminal_as_it_was() {
    let stage = stage();
    let mut run = Pty::start(stage.unstuck(&["run", "write a"]), 20, 6);
    stage.hear("up");
    run.until("write a");
    run.resize(100, 10);
    run.until("p pause");
    run.press("\x03");
    let (status, seen) = run.end();
    assert_eq!(status.code(), Some(130), "{seen}");
    let mut run = Pty::start(stage.unstuck(&["resume"]), 80, 24);
    stage.hear("up");
    run.until("p pause");
    run.signal(Signal::TERM);
    assert_eq!(run.end().0.code(), Some(143));
}

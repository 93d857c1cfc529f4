//! A run that is cut off, and goes on.

use rustix::process::Signal;
use unstuck_core::engine::Event;

use crate::project::Project;

/// Says that it is up, waits for a word, and writes.
const SLOW: &str =
    r#"{run = "echo up > ../../../up; cat ../../../go"}, {write = "work/a.txt", text = "fine\n"}"#;

fn stage() -> Project {
    let stage = Project::with_agent("write-a", &[SLOW]);
    stage.fifo("up");
    stage.fifo("go");
    stage
}

fn goes_on(stage: &Project) {
    let mut resumed = stage.start(&["resume"]);
    stage.hear("up");
    std::fs::write(stage.path("go"), "").unwrap();
    resumed.read_until("is done");
    let (exit, said) = resumed.end();
    assert_eq!(exit, Some(0), "{said}");
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    assert_eq!(stage.git(&["rev-list", "--count", "main..unstuck/b0"]), "1\n");
}

// B4, B12, B13: killed while an agent is busy, it goes on in the same worktree
#[test]
fn killed_in_the_middle_it_goes_on_at_the_next_start() {
    let stage = stage();
    let running = stage.start(&["run", "write a"]);
    stage.hear("up");
    running.signal(Signal::KILL);
    let _ = running.end();
    goes_on(&stage);
    assert_eq!(stage.count(|event| matches!(event, Event::RunCrashed { clean: false, .. })), 1);
    assert_eq!(stage.tasks()[0].moved.attempts, 1, "what was cut off is no new attempt");
}

#[test]
fn interrupted_from_the_keyboard_it_ends_what_it_began() {
    let stage = stage();
    let running = stage.start(&["run", "write a"]);
    stage.hear("up");
    running.signal(Signal::INT);
    let (exit, said) = running.end();
    assert_eq!(exit, Some(130), "{said}");
    assert!(said.contains("`unstuck resume` continues"), "{said}");
    goes_on(&stage);
    assert_eq!(stage.count(|event| matches!(event, Event::RunCrashed { clean: true, .. })), 1);
}

// B6: three kills in a row are said as such, and the answer to that is taken up at the next start.
#[test]
fn killed_three_times_in_a_row_it_says_so_and_offers_to_try_again() {
    let stage = stage();
    for (at, verb) in [&["run", "write a"][..], &["resume"], &["resume"]].into_iter().enumerate() {
        let running = stage.start(verb);
        stage.hear("up");
        running.signal(Signal::KILL);
        let _ = running.end();
        assert_eq!(stage.count(|event| matches!(event, Event::RunCrashed { .. })), at);
    }
    stage.run(&["resume", "--max-wait", "0"]);
    let questions = stage.questions();
    let problem = &questions[0].text.problem;
    assert!(problem.contains("crashed three times in a row"), "{problem}");
    assert!(!problem.contains("support"), "{problem}");
    stage.run(&["inbox", "answer", &questions[0].id.to_string(), "try_again"]).exits(0);
    goes_on(&stage);
}

//! Outside of any run: the key counts for the project, for good.

use std::process::{Child, Command, Output};

use unstuck_store::tables::MutationStatus;

use crate::program::OutputText as _;
use crate::project::Project;

fn mutate(stage: &Project, options: &[&str], script: &str) -> Command {
    let mut mutate = stage.unstuck(&["mutate"]);
    mutate.args(options).args(["--", "sh", "-c", script]);
    mutate
}

fn run(stage: &Project, options: &[&str], script: &str) -> Output {
    mutate(stage, options, script).output().unwrap()
}

// B18: while no process runs.
#[test]
fn the_second_time_it_gives_back_what_came_of_the_first() {
    let stage = Project::new();
    let script = "echo sent >>sent; echo receipt 7; echo aside >&2";
    for aside in ["aside\n", ""] {
        let ran = run(&stage, &["--key", "invoice"], script).exits(0);
        assert_eq!((ran.out().as_str(), ran.err().as_str()), ("receipt 7\n", aside));
    }
    assert_eq!(stage.wrote("sent"), "sent\n");
    let (status, result) = stage.mutation("mutate invoice");
    assert_eq!((status, result.as_str()), (MutationStatus::Applied, "receipt 7\n"));
}

#[test]
fn whatever_bytes_came_back_are_given_back() {
    let stage = Project::new();
    for script in ["printf '\\377\\000\\n'", "head -c 1500000 /dev/zero", ":"] {
        let key = ["--key", script];
        let once = run(&stage, &key, script).exits(0);
        assert!(run(&stage, &key, script).stdout == once.stdout, "{script}");
    }
}

#[test]
fn a_key_stands_for_one_command_only() {
    let stage = Project::new();
    run(&stage, &["--key", "invoice"], "echo one");
    let other = run(&stage, &["--key", "invoice"], "echo other >>other");
    assert_eq!((other.status.code(), other.out().as_str()), (Some(121), ""));
    insta::assert_snapshot!(other.err());
    assert_eq!(stage.wrote("other"), "");
}

#[test]
fn a_status_that_is_declared_as_not_done_passes_on_and_may_be_tried_again() {
    let stage = Project::new();
    let script = "echo try >>tries; [ -f ready ] || { echo half; exit 3; }; echo done";
    let options = ["--key", "publish", "--not-done", "7,3"];
    let ran = run(&stage, &options, script);
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(3), "half\n"));
    assert!(
        ran.err().contains("\"publish\" did not happen: the command ended with 3"),
        "{}",
        ran.err()
    );
    std::fs::write(stage.path("ready"), "").unwrap();
    let ran = run(&stage, &options, script);
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "done\n"));
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
}

// T3.12: what acted and then failed is not repeated, whatever its status and whatever it says.
#[test]
fn no_status_and_no_words_prove_that_nothing_happened() {
    let stage = Project::new();
    let ends = [
        "exit 1",
        "exit 7",
        "exit 22",
        "exit 28",
        "exit 75",
        "exit 124",
        "exit 126",
        "exit 127",
        "exit 137",
        "exit 143",
        "kill -TERM $$",
        "echo 'unexpected EOF' >&2; exit 1",
        "echo 'permission denied' >&2; exit 56",
    ];
    for end in ends {
        let script = format!("echo {end:?} >>charges; {end}");
        for _ in 0..2 {
            let ran = run(&stage, &["--key", end], &script);
            assert_eq!(ran.status.code(), Some(120), "{end}: {}", ran.err());
        }
    }
    assert_eq!(stage.wrote("charges").lines().count(), ends.len(), "{}", stage.wrote("charges"));
    let said = run(&stage, &["--key", "last"], "exit 22");
    insta::assert_snapshot!(said.err());
}

#[test]
fn unfit_keys_and_programs_are_refused_before_anything_happens() {
    let stage = Project::new();
    for key in ["", "a\nb", &"x".repeat(300)] {
        let ran = run(&stage, &["--key", key], "echo x >>ran").exits(2);
        assert!(ran.err().contains("this key cannot be used"), "{}", ran.err());
    }
    let mut spelt = mutate(&stage, &["--key", "k", "--probe", "look canary-4711-canary"], ":");
    let spelt = spelt.env("SHOP_TOKEN", "canary-4711-canary").output().unwrap();
    assert_eq!(spelt.status.code(), Some(2));
    let missing =
        stage.unstuck(&["mutate", "--key", "k", "--", "/no/such"]).output().unwrap().exits(127);
    assert!(missing.err().contains("no such program"), "{}", missing.err());
    assert_eq!(stage.wrote("ran"), "");
}

// B18: several at once, and beside a holder of the project.
#[test]
fn eight_at_once_do_it_once_and_all_get_what_came_back() {
    let stage = Project::new();
    stage.fifos(&["up", "go"]);
    let holder = stage.start_exec(&["--name", "other"], "echo >up; read line <go");
    stage.hear("up");
    let all: Vec<Child> = (0..8)
        .map(|_| mutate(&stage, &["--key", "k"], "echo x >>sent; echo back").spawn().unwrap())
        .collect();
    for child in all {
        let ran = child.wait_with_output().unwrap();
        assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "back\n"));
    }
    assert_eq!(stage.wrote("sent"), "x\n");
    stage.let_go("go");
    assert_eq!(holder.wait().code(), Some(0));
}

// T3.12, TX6: no probe can tell, so a person says, and the next one acts on it.
#[test]
fn what_took_too_long_is_asked_about_and_not_repeated() {
    for (decision, status, tries) in
        [("it_happened", 0, "try\n"), ("it_did_not", 0, "try\ntry\n"), ("skip", 121, "try\n")]
    {
        let stage = Project::new();
        let script = "echo try >>tries; [ -f ready ] && exit 0; sleep 1000";
        let options = ["--key", "k", "--timeout", "1s"];
        for _ in 0..2 {
            let ran = run(&stage, &options, script);
            assert!(!ran.err().contains("ended with 124"), "{}", ran.err());
            ran.exits(120);
            assert_eq!(stage.wrote("tries"), "try\n");
        }
        std::fs::write(stage.path("ready"), "").unwrap();
        assert!(stage.answer(&stage.question(), decision).status.success());
        let ran = run(&stage, &options, script);
        assert_eq!(ran.status.code(), Some(status), "{decision}: {}", ran.err());
        assert_eq!(stage.wrote("tries"), tries, "{decision}");
    }
}

// B18: nothing keeps a settled key from being answered: neither open questions nor a pause.
#[test]
fn a_settled_key_answers_at_once_while_all_jobs_are_paused() {
    let stage = Project::new();
    let script = "echo x >>sent; echo back";
    assert_eq!(run(&stage, &["--key", "k"], script).status.code(), Some(0));
    assert!(stage.unstuck(&["pause", "b0"]).output().unwrap().status.success());
    let ran = run(&stage, &["--key", "k"], script);
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "back\n"));
    run(&stage, &["--key", "k"], "echo other").exits(121);
    assert_eq!(stage.wrote("sent"), "x\n");
}

// B18: whatever waits says what for, and gives up when it was told to.
#[test]
fn what_waits_says_so_and_gives_up_in_time() {
    let stage = Project::new();
    stage.fifos(&["up", "go"]);
    let script = "echo >up; read line <go; echo back";
    let first = mutate(&stage, &["--key", "k"], script).spawn().unwrap();
    stage.hear("up");
    let second = run(&stage, &["--key", "k", "--max-wait", "1s"], script).exits(75);
    let said = second.err();
    assert!(said.contains("another process is performing it"), "{said}");
    assert!(said.contains("the time to wait is over"), "{said}");
    stage.let_go("go");
    let first = first.wait_with_output().unwrap();
    assert_eq!((first.status.code(), first.out().as_str()), (Some(0), "back\n"));
    let again = run(&stage, &["--key", "k", "--max-wait", "1s"], script);
    assert_eq!((again.status.code(), again.out().as_str()), (Some(0), "back\n"));
}

// B18: what is still being looked up is given up in time too, and is nothing that was not run.
#[test]
fn an_action_that_settles_is_given_up_in_time() {
    let stage = Project::new();
    let options = ["--key", "k", "--probe", "exit 1", "--settle", "1h", "--max-wait", "1s"];
    let ran = run(&stage, &options, "echo x >>sent; exit 5").exits(75);
    let said = ran.err();
    assert!(said.contains("may have happened or not"), "{said}");
    assert!(said.contains("its probe is checking"), "{said}");
    assert_eq!(stage.wrote("sent"), "x\n");
}

// B18: a job whose outcome a person has told is over with the next call.
#[test]
fn an_answered_action_is_done_when_its_command_runs_again() {
    let stage = Project::new();
    let script = "echo x >>sent; exit 5";
    run(&stage, &["--key", "k"], script).exits(120);
    let answer = stage.unstuck(&["inbox", "answer", "0", "it_happened"]).output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    run(&stage, &["--key", "k"], script).exits(0);
    let status = stage.unstuck(&["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["builds"][0]["done"], 1, "{status}");
    assert_eq!(stage.wrote("sent"), "x\n");
}

#[test]
fn an_action_that_waits_for_paused_jobs_says_how_to_let_it_go_on() {
    let stage = Project::new();
    assert_eq!(run(&stage, &["--key", "first"], ":").status.code(), Some(0));
    assert!(stage.unstuck(&["pause", "b0"]).output().unwrap().status.success());
    let ran = run(&stage, &["--key", "k", "--max-wait", "1s"], "echo x >>sent");
    assert_eq!((ran.status.code(), stage.wrote("sent").as_str()), (Some(4), ""));
    let said = ran.err();
    assert!(said.contains("`unstuck resume` continues them"), "{said}");
    let status = stage.unstuck(&["status"]).output().unwrap().exits(0).out();
    assert!(status.contains("All jobs are paused; `unstuck resume` continues them."), "{status}");
    let resumed = stage.unstuck(&["resume"]).output().unwrap().exits(0).out();
    assert!(resumed.contains("The jobs are no longer paused."), "{resumed}");
    run(&stage, &["--key", "k"], "echo x >>sent").exits(0);
    assert_eq!(stage.wrote("sent"), "x\n");
}

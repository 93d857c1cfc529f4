//! Outside of any run: the key counts for the project, for good.

use std::process::{Child, Command, Output};

use unstuck_store::tables::MutationStatus;

use crate::exec::stage::{Stage, text};

fn mutate(stage: &Stage, options: &[&str], script: &str) -> Command {
    let mut mutate = stage.unstuck(&["mutate"]);
    mutate.args(options).args(["--", "sh", "-c", script]);
    mutate
}

fn run(stage: &Stage, options: &[&str], script: &str) -> Output {
    mutate(stage, options, script).output().unwrap()
}

// B18: while nobody runs.
#[test]
fn the_second_time_it_gives_back_what_came_of_the_first() {
    let stage = Stage::new();
    let script = "echo sent >>sent; echo receipt 7; echo aside >&2";
    for aside in ["aside\n", ""] {
        let ran = run(&stage, &["--key", "invoice"], script);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        assert_eq!(
            (text(&ran.stdout).as_str(), text(&ran.stderr).as_str()),
            ("receipt 7\n", aside)
        );
    }
    assert_eq!(stage.wrote("sent"), "sent\n");
    let (status, result) = stage.mutation("mutate invoice");
    assert_eq!((status, result.as_str()), (MutationStatus::Applied, "receipt 7\n"));
}

#[test]
fn whatever_bytes_came_back_are_given_back() {
    let stage = Stage::new();
    for script in ["printf '\\377\\000\\n'", "head -c 1500000 /dev/zero", ":"] {
        let key = ["--key", script];
        let once = run(&stage, &key, script);
        assert_eq!(once.status.code(), Some(0), "{}", text(&once.stderr));
        assert!(run(&stage, &key, script).stdout == once.stdout, "{script}");
    }
}

#[test]
fn a_key_stands_for_one_command_only() {
    let stage = Stage::new();
    run(&stage, &["--key", "invoice"], "echo one");
    let other = run(&stage, &["--key", "invoice"], "echo other >>other");
    assert_eq!((other.status.code(), text(&other.stdout).as_str()), (Some(121), ""));
    insta::assert_snapshot!(text(&other.stderr));
    assert_eq!(stage.wrote("other"), "");
}

#[test]
fn a_command_that_says_it_failed_did_not_do_it_and_may_be_tried_again() {
    let stage = Stage::new();
    let script = "echo try >>tries; [ -f ready ] || { echo half; exit 3; }; echo done";
    let ran = run(&stage, &["--key", "publish"], script);
    assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(3), "half\n"));
    std::fs::write(stage.path("ready"), "").unwrap();
    let ran = run(&stage, &["--key", "publish"], script);
    assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(0), "done\n"));
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
}

#[test]
fn unfit_keys_and_programs_are_refused_before_anything_happens() {
    let stage = Stage::new();
    for key in ["", "a\nb", &"x".repeat(300)] {
        let ran = run(&stage, &["--key", key], "echo x >>ran");
        assert_eq!(ran.status.code(), Some(2), "{}", text(&ran.stderr));
        assert!(text(&ran.stderr).contains("this key cannot be used"), "{}", text(&ran.stderr));
    }
    let mut spelt = mutate(&stage, &["--key", "k", "--probe", "look canary-4711-canary"], ":");
    let spelt = spelt.env("SHOP_TOKEN", "canary-4711-canary").output().unwrap();
    assert_eq!(spelt.status.code(), Some(2));
    let missing = stage.unstuck(&["mutate", "--key", "k", "--", "/no/such"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("no such program"), "{}", text(&missing.stderr));
    assert_eq!(stage.wrote("ran"), "");
}

// B18: several at once, and beside somebody who holds the project.
#[test]
fn eight_at_once_do_it_once_and_all_get_what_came_back() {
    let stage = Stage::new();
    for fifo in ["up", "go"] {
        stage.fifo(fifo);
    }
    let holder = stage.start(&["--name", "other"], "echo >up; read line <go");
    stage.hear("up");
    let all: Vec<Child> = (0..8)
        .map(|_| mutate(&stage, &["--key", "k"], "echo x >>sent; echo back").spawn().unwrap())
        .collect();
    for child in all {
        let ran = child.wait_with_output().unwrap();
        assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(0), "back\n"));
    }
    assert_eq!(stage.wrote("sent"), "x\n");
    stage.let_go("go");
    assert_eq!(holder.status().code(), Some(0));
}

// T3.12, TX6: nobody can tell, so a person says, and the next one acts on it.
#[test]
fn what_took_too_long_is_asked_about_and_not_repeated() {
    for (decision, status, tries) in
        [("it_happened", 0, "try\n"), ("it_did_not", 0, "try\ntry\n"), ("skip", 121, "try\n")]
    {
        let stage = Stage::new();
        let script = "echo try >>tries; [ -f ready ] && exit 0; sleep 1000";
        let options = ["--key", "k", "--timeout", "1s"];
        for _ in 0..2 {
            let ran = run(&stage, &options, script);
            assert_eq!(ran.status.code(), Some(120), "{}", text(&ran.stderr));
            assert_eq!(stage.wrote("tries"), "try\n");
        }
        std::fs::write(stage.path("ready"), "").unwrap();
        assert!(stage.answer(&stage.question(), decision).status.success());
        let ran = run(&stage, &options, script);
        assert_eq!(ran.status.code(), Some(status), "{decision}: {}", text(&ran.stderr));
        assert_eq!(stage.wrote("tries"), tries, "{decision}");
    }
}

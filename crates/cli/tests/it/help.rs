//! Help, version and mistakes on the command line.

use crate::program::{command, unstuck};

#[test]
fn short_help() {
    insta::assert_snapshot!(unstuck(&["-h"]));
}

#[test]
fn long_help_has_examples_and_exit_codes() {
    insta::assert_snapshot!(unstuck(&["--help"]));
}

#[test]
fn help_of_explain() {
    insta::assert_snapshot!(unstuck(&["explain", "--help"]));
}

#[test]
fn help_of_classify() {
    insta::assert_snapshot!(unstuck(&["classify", "--help"]));
}

#[test]
fn help_of_demo() {
    insta::assert_snapshot!(unstuck(&["demo", "--help"]));
}

#[test]
fn help_of_the_verbs_that_look_into_a_project() {
    for verb in ["inbox", "jobs", "status", "log", "why", "forget", "report"] {
        insta::assert_snapshot!(format!("help_of_{verb}"), unstuck(&[verb, "--help"]));
    }
}

#[test]
fn help_of_completions() {
    insta::assert_snapshot!(unstuck(&["completions", "--help"]));
}

#[test]
fn without_a_verb_the_help_is_a_mistake() {
    let ran = unstuck(&[]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: unstuck"));
}

#[test]
fn version() {
    let ran = unstuck(&["--version"]);
    assert_eq!(ran.exit, 0);
    assert_eq!(ran.stdout, format!("unstuck {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_of_a_verb_below_another_one() {
    let ran = unstuck(&["help", "answer"]).exits(0);
    assert!(ran.stdout.contains("unstuck inbox answer"), "{ran}");
}

#[test]
fn a_mistyped_verb_gets_a_suggestion() {
    insta::assert_snapshot!(unstuck(&["expain"]));
}

#[test]
fn colours_are_kept_out_of_pipes_and_can_be_declined() {
    let styled = |args: &[&str], force: bool| {
        let mut command = command(args);
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!styled(&["explain"], false));
    assert!(styled(&["explain"], true));
    assert!(!styled(&["--no-color", "explain"], true));
    assert!(!styled(&["explain", "--no-color"], true));
    assert!(styled(&["--help"], true));
    assert!(!styled(&["--help", "--no-color"], true));
}

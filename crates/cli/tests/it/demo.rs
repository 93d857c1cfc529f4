//! `unstuck demo`, as a person and as a pipe see it.

use crate::program::{command, unstuck};

#[test]
fn the_night_is_told_to_its_end_without_anybody_at_the_keyboard() {
    let run = unstuck(&["demo"]);
    assert_eq!(run.exit, 0, "{}", run.stderr);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn the_same_seed_tells_the_same_night_and_another_one_another() {
    let night = |seed: &str| unstuck(&["demo", "--auto", "--seed", seed]).stdout;
    assert_eq!(night("11"), night("11"));
    assert_ne!(night("11"), night("12"));
}

#[test]
fn without_git_it_says_so() {
    let nowhere = tempfile::tempdir().unwrap();
    let run = command(["demo", "--auto"]).env("PATH", nowhere.path()).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(78), "{said}");
    assert!(said.contains("TOOL_MISSING: git cannot be started"), "{said}");
    assert!(said.contains("unstuck explain TOOL_MISSING"), "{said}");
}

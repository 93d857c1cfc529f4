//! `unstuck demo`, as a person and as a pipe see it.

use crate::program::{command, ran, unstuck};
use crate::terminal::seen;

#[test]
fn the_night_is_told_to_its_end_without_anybody_at_the_keyboard() {
    let run = ran(command(["demo"]).env("TZ", "UTC").output().unwrap());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn on_a_terminal_it_ends_by_itself_with_the_report_and_fits_the_window() {
    let state = tempfile::tempdir().unwrap();
    let demo = format!("XDG_STATE_HOME='{}' unstuck demo", state.path().display());
    let Some(seen) = seen(&format!("stty rows 24 cols 80; {demo} --auto --no-color")) else {
        return;
    };
    assert!(seen.lines().all(|line| line.chars().count() <= 80), "{seen}");
    let (_, morning) = seen.split_once("In the morning").unwrap();
    for part in ["6 of 6 tasks are done.", "Done", "Waits", "Cost and time", "Next, in"] {
        assert!(morning.contains(part), "{part}: {morning}");
    }
}

#[test]
fn it_is_evening_wherever_one_is() {
    for zone in ["UTC", "EAST-13", "WEST+11"] {
        let told = ran(command(["demo", "--auto"]).env("TZ", zone).output().unwrap()).stdout;
        assert!(told.contains("  23:00:00  ▸ Working on “Add timeouts”."), "{told}");
        assert!(told.contains("demo-7: build b0 · 01 Jan 23:00 to 02 Jan 01:28"), "{told}");
    }
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

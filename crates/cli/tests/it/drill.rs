//! `unstuck drill` proves it on the machine it runs on.

use std::process::Command;

use crate::program::{command, ran};

fn drill(args: &[&str], folder: &std::path::Path) -> crate::program::Ran {
    let mut drill: Command = command(["drill"]);
    drill.args(args).current_dir(folder).env("TMPDIR", folder);
    drill.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder);
    ran(drill.output().unwrap())
}

// TX6, T4.9, T4.8, B5, T1.9, B4: end to end through the binary, on this machine
#[test]
fn everything_holds_on_this_machine_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let ran = drill(&["--json"], folder.path());
    assert_eq!(ran.exit, 0, "{ran}");
    let outcomes: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outcomes.len(), 8);
    assert!(outcomes.iter().all(|outcome| outcome["held"] == true), "{ran}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn one_check_can_be_picked_and_an_unknown_one_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let ran = drill(&["same-error"], folder.path());
    assert_eq!(ran.exit, 0, "{ran}");
    assert!(ran.stdout.contains("1 of 1 check held"), "{ran}");
    let ran = drill(&["no-such-thing"], folder.path());
    assert_eq!(ran.exit, 2, "{ran}");
    assert!(ran.stderr.contains("unstuck drill --list"), "{ran}");
}

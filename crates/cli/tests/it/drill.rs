//! `unstuck drill` proves it on the machine it runs on.

use std::process::Command;

use crate::program::{SEARCH_PATH, command, ran};

fn drill(args: &[&str], folder: &std::path::Path) -> crate::program::Ran {
    let mut drill: Command = command(["drill"]);
    drill.args(args).current_dir(folder).env("TMPDIR", folder);
    drill.env("PATH", SEARCH_PATH).env("HOME", folder);
    ran(drill.output().unwrap())
}

// TX6, T4.9, T4.8, B5, T1.9, B4: end to end through the binary, on this machine
#[test]
fn everything_holds_on_this_machine_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let ran = drill(&["--json"], folder.path());
    let outcomes: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outcomes.len(), 9);
    let but_wall = |outcome: &&serde_json::Value| outcome["name"] != "wall";
    assert!(outcomes.iter().filter(but_wall).all(|outcome| outcome["held"] == true), "{ran}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn one_check_can_be_picked_and_an_unknown_one_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let ran = drill(&["same-error"], folder.path()).exits(0);
    assert!(ran.stdout.contains("1 of 1 check held"), "{ran}");
    let ran = drill(&["no-such-thing"], folder.path()).exits(2);
    assert!(ran.stderr.contains("unstuck drill --list"), "{ran}");
}

/// What a build comes to is what doctor says about the machine, whichever layers it has.
#[test]
fn an_agent_that_wants_harm_gets_as_far_as_doctor_says() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let ran = drill(&["wall", "--json"], folder.path());
    let outcomes: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let tried = outcomes[0]["tried"].as_array().expect(&ran.stdout);
    let mut doctor = command(["doctor", "--wall", "--json"]);
    doctor.current_dir(folder.path()).env("HOME", folder.path()).env("PATH", SEARCH_PATH);
    let said: serde_json::Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
    for attack in said["attacks"].as_array().unwrap() {
        let name = &attack["attack"];
        match tried.iter().find(|tried| tried["attack"] == *name) {
            Some(tried) => assert_eq!(tried["held"], attack["held"], "{name}: {ran}"),
            // An agent is no check, and the limits of a build are wider.
            None => {
                let of_others = ["threads", "allocate", "large-file", "check-tcp", "check-udp"];
                assert!(of_others.iter().any(|of| name == of), "{name} was not tried: {ran}");
            }
        }
    }
}

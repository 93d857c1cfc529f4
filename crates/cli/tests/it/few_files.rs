//! Where hardly any files may be open at once, that is said; nothing breaks in the middle.

use std::process::{Command, Stdio};

use crate::place::Place;
use crate::program::{Ran, ran};

/// Runs it where so many files may be open at once, and the limit is not ours to raise.
fn limited(place: &Place, files: u32, args: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {files}; exec \"$@\"")).arg("sh");
    command.arg(env!("CARGO_BIN_EXE_unstuck")).args(args).current_dir(place.path(""));
    command.env("HOME", place.path("")).env("XDG_STATE_HOME", place.path("user"));
    ran(command.stdin(Stdio::null()).output().unwrap())
}

// B52: whatever the command and however few there are
#[test]
fn too_few_files_are_said_before_anything_begins() {
    let place = Place::repository(&[]);
    let commands: [&[&str]; 8] = [
        &["exec", "--", "touch", "ran"],
        &["mutate", "--key", "k", "--", "touch", "ran"],
        &["serve", "--bind", "127.0.0.1:0"],
        &["run", "write a"],
        &["status"],
        &["inbox"],
        &["jobs"],
        &["doctor"],
    ];
    for args in commands {
        for files in [8, 12, 20, 63] {
            let refused = limited(&place, files, args);
            assert_eq!(refused.exit, 78, "{files} {args:?}: {refused}");
            assert!(refused.stderr.contains("ulimit -n"), "{files} {args:?}: {refused}");
            assert!(!refused.stderr.contains("panicked"), "{files} {args:?}: {refused}");
        }
    }
    assert!(!place.path("ran").exists() && !place.path(".unstuck").exists());
    limited(&place, 64, &["exec", "--", "touch", "ran"]).exits(0);
    assert!(place.path("ran").exists());
}

// B52: a limit that is ours to raise is raised
#[test]
fn a_soft_limit_is_raised() {
    let place = Place::repository(&[]);
    let mut command = Command::new("sh");
    command.arg("-c").arg("ulimit -S -n 12; exec \"$@\"").arg("sh");
    command.arg(env!("CARGO_BIN_EXE_unstuck")).args(["exec", "--", "true"]);
    command.current_dir(place.path("")).env("HOME", place.path(""));
    ran(command.stdin(Stdio::null()).output().unwrap()).exits(0);
}

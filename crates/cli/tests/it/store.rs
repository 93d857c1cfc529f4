//! `unstuck store`: copies, and back from them.

use std::fs;

use crate::place::Place;

/// A project in which one action was performed, and a copy of it.
fn copied() -> Place {
    let place = Place::with(&[]);
    let acted =
        place.unstuck(&["mutate", "--key", "first", "--", "sh", "-c", "echo 1 >>acts; echo one"]);
    assert_eq!((acted.exit, acted.stdout.as_str()), (0, "one\n"), "{acted}");
    place.unstuck(&["store", "backup", "copy.db"]).exits(0);
    place
}

// TX8: what was copied is there again, and an action it knows is not performed twice
#[test]
fn a_copy_brings_everything_back() {
    let place = copied();
    let failed =
        place.unstuck(&["exec", "--name", "later", "--max-wait", "0", "--", "sh", "-c", "exit 3"]);
    assert_ne!(failed.exit, 0, "{failed}");
    assert!(place.unstuck(&["status"]).stdout.contains("later"));
    let restored = place.unstuck(&["store", "restore", "copy.db", "--yes"]).exits(0);
    assert!(restored.stdout.contains("check before you continue"), "{restored}");
    assert!(!place.unstuck(&["status"]).stdout.contains("later"));
    let again =
        place.unstuck(&["mutate", "--key", "first", "--", "sh", "-c", "echo 1 >>acts; echo one"]);
    assert_eq!((again.exit, again.stdout.as_str()), (0, "one\n"), "{again}");
    assert_eq!(place.read("acts"), "1\n");
    // And what was there before can be gone back to as well.
    let before = fs::read_dir(place.path(".unstuck")).unwrap().flatten();
    let before = before.map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("before-restore-"))
    });
    let before = before.unwrap().to_str().unwrap().to_owned();
    place.unstuck(&["store", "restore", &before, "--yes"]).exits(0);
    assert!(place.unstuck(&["status"]).stdout.contains("later"));
}

#[test]
fn a_copy_overwrites_nothing_and_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = copied();
    let mode = fs::metadata(place.path("copy.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = fs::read(place.path("copy.db")).unwrap();
    let again = place.unstuck(&["store", "backup", "copy.db"]);
    assert_ne!(again.exit, 0, "{again}");
    assert!(again.stderr.contains("copy.db") && again.stderr.contains("exists"), "{again}");
    assert!(fs::read(place.path("copy.db")).unwrap() == before);
}

// What is no copy of this project is refused, and what is here stays.
#[test]
fn what_is_no_copy_is_refused() {
    let place = copied();
    fs::write(place.path("garbage.db"), "not a database at all, however long it may be").unwrap();
    let whole = fs::read(place.path("copy.db")).unwrap();
    fs::write(place.path("half.db"), &whole[..whole.len() / 2]).unwrap();
    let other = Place::with(&[("bank/money", "some")]);
    assert_eq!(other.unstuck(&["-C", "bank", "exec", "--", "sh", "-c", ":"]).exit, 0);
    let elsewhere = place.path("other.db").to_str().unwrap().to_owned();
    other.unstuck(&["-C", "bank", "store", "backup", &elsewhere]).exits(0);
    for (file, says) in [
        ("nothing.db", "nothing.db"),
        ("garbage.db", "not a SQLite database"),
        ("half.db", "half.db"),
        ("other.db", "holds nothing about the project"),
    ] {
        let refused = place.unstuck(&["store", "restore", file, "--yes"]);
        assert_ne!(refused.exit, 0, "{refused}");
        assert!(refused.stderr.contains(says), "{says}: {refused}");
    }
    let known =
        place.unstuck(&["mutate", "--key", "first", "--", "sh", "-c", "echo 1 >>acts; echo one"]);
    assert_eq!((known.exit, known.stdout.as_str()), (0, "one\n"), "{known}");
    assert_eq!(place.read("acts"), "1\n");
}

// A store in use is not replaced, and a copy of it can be made meanwhile.
#[test]
fn a_copy_is_made_while_something_runs_and_not_gone_back_to() {
    let place = copied();
    let unstuck = env!("CARGO_BIN_EXE_unstuck");
    let script = format!(
        "{unstuck} store backup live.db && {unstuck} store restore copy.db --yes; echo $? >status"
    );
    let ran = place.unstuck(&["exec", "--", "sh", "-c", &script]).exits(0);
    assert!(place.path("live.db").exists(), "{ran}");
    assert_ne!(place.read("status"), "0\n", "{ran}");
    assert!(ran.stderr.contains("in use by `unstuck exec`"), "{ran}");
}

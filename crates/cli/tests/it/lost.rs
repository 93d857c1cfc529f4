//! A ledger that lost something says so, and performs nothing twice.

use std::fs;

use crate::place::Place;

const DATABASE: &str = ".unstuck/state.db";

/// Performs the action with this key, and leaves a line behind.
fn pay(place: &Place, key: &str) -> crate::program::Ran {
    place.unstuck(&["mutate", "--key", key, "--", "sh", "-c", &format!("echo {key} >>acts")])
}

/// A project with two actions, of which the second is in the log alone.
fn paid() -> Place {
    let place = Place::with(&[]);
    for key in ["first", "second"] {
        pay(&place, key).exits(0);
    }
    place
}

fn log(place: &Place) -> std::path::PathBuf {
    place.path(&format!("{DATABASE}-wal"))
}

/// Removes the files that `rm state.db*` removes.
fn remove_all_named_after_it(place: &Place) {
    for entry in fs::read_dir(place.path(".unstuck")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap().starts_with("state.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

// B51: the log of the database is removed, cut and damaged, and the database itself removed, also
// with all that is named after it
#[test]
fn no_action_is_performed_again_because_its_record_is_lost() {
    let damages: [fn(&Place); 5] = [
        |place| fs::remove_file(log(place)).unwrap(),
        |place| {
            let whole = fs::read(log(place)).unwrap();
            fs::write(log(place), &whole[..whole.len() / 2]).unwrap();
        },
        |place| {
            let mut whole = fs::read(log(place)).unwrap();
            let middle = whole.len() / 2;
            whole[middle] ^= 1;
            fs::write(log(place), whole).unwrap();
        },
        |place| fs::remove_file(place.path(DATABASE)).unwrap(),
        remove_all_named_after_it,
    ];
    for damage in damages {
        let place = paid();
        damage(&place);
        let again = pay(&place, "second");
        assert_eq!(place.read("acts"), "first\nsecond\n", "{again}");
        assert_eq!(again.exit, 70, "{again}");
        assert!(again.stderr.contains("unstuck store accept-loss"), "{again}");
        // Commands that only read tell it as well.
        for look in [&["status"][..], &["inbox"], &["store", "verify"], &["log"]] {
            let looked = place.unstuck(look);
            assert_eq!(looked.exit, 70, "{look:?}: {looked}");
        }
    }
}

// B51: a young project does not live in the log alone
#[test]
fn the_first_command_leaves_the_log_behind() {
    let place = Place::with(&[]);
    assert_eq!(pay(&place, "first").exit, 0);
    fs::remove_file(log(&place)).unwrap();
    let again = pay(&place, "first");
    assert_eq!((again.exit, place.read("acts").as_str()), (0, "first\n"), "{again}");
}

// B51: what is known of the actions since is asked about; the rest goes on
#[test]
fn an_action_whose_record_is_lost_is_asked_about() {
    let place = paid();
    fs::remove_file(log(&place)).unwrap();
    let accepted = place.unstuck(&["store", "accept-loss", "--yes"]).exits(0);
    assert!(accepted.stdout.contains("second"), "{accepted}");
    assert!(!accepted.stdout.contains("first"), "{accepted}");
    let known = pay(&place, "first");
    assert_eq!((known.exit, place.read("acts").as_str()), (0, "first\nsecond\n"), "{known}");
    let asked = pay(&place, "second").exits(120);
    assert_eq!(place.read("acts"), "first\nsecond\n", "{asked}");
    let inbox = place.unstuck(&["inbox", "--json"]);
    assert!(inbox.stdout.contains("second"), "{inbox}");
    assert!(inbox.stdout.contains("the record of this action was lost"), "{inbox}");
    let new = pay(&place, "third");
    assert_eq!((new.exit, place.read("acts").as_str()), (0, "first\nsecond\nthird\n"), "{new}");
    place.unstuck(&["store", "verify"]).exits(0);
}

// B51: or a copy is gone back to, whatever is left here
#[test]
fn a_copy_is_gone_back_to_after_a_loss() {
    for gone in [DATABASE.to_owned(), format!("{DATABASE}-wal")] {
        let place = paid();
        place.unstuck(&["store", "backup", "copy.db"]).exits(0);
        fs::remove_file(place.path(&gone)).unwrap();
        assert_eq!(pay(&place, "second").exit, 70);
        place.unstuck(&["store", "restore", "copy.db", "--yes"]).exits(0);
        for key in ["first", "second"] {
            pay(&place, key).exits(0);
        }
        assert_eq!(place.read("acts"), "first\nsecond\n");
    }
}

#[test]
fn where_nothing_is_lost_nothing_is_done() {
    let place = paid();
    let accepted = place.unstuck(&["store", "accept-loss", "--yes"]).exits(0);
    assert!(accepted.stdout.contains("Nothing is lost"), "{accepted}");
    let verified = place.unstuck(&["store", "verify"]).exits(0);
    assert!(verified.stdout.contains("is what was written"), "{verified}");
}

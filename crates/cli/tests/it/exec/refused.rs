//! Projects that cannot be worked in: a clear word, the right number, and nothing is touched.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

use rustix::process::Signal;
use unstuck_core::time::Time;
use unstuck_store::{Holder, SqliteStore, Store as _};

use crate::program::OutputText as _;
use crate::project::Project;

/// Where a SQLite file says which schema it has.
const SCHEMA_AT: u64 = 60;

#[test]
fn a_folder_that_cannot_be_made() {
    let stage = Project::new();
    fs::write(stage.path(".unstuck"), "a file").unwrap();
    let ran = stage.run_exec(&[], "touch ran");
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(78), "{said}");
    assert!(said.contains(".unstuck") && said.contains("hint"), "{said}");
    assert!(!stage.path("ran").exists());
}

#[test]
fn a_directory_that_is_none() {
    let stage = Project::new();
    fs::write(stage.path("file"), "").unwrap();
    let ran = stage.unstuck(&["-C", "file/below", "exec", "--", "true"]).output().unwrap();
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(78), "{said}");
    assert!(said.contains("file/below") && !said.contains("standard input"), "{said}");
}

#[test]
fn a_directory_that_is_not_there() {
    let stage = Project::new();
    let ran = stage.unstuck(&["-C", "nowhere", "exec", "--", "true"]).output().unwrap();
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no directory nowhere"), "{said}");
}

#[test]
fn a_directory_without_rights() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may write everywhere");
        return;
    }
    let stage = Project::new();
    fs::set_permissions(stage.path(""), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = stage.run_exec(&[], "true");
    fs::set_permissions(stage.path(""), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(ran.status.code(), Some(78), "{}", ran.err());
}

#[test]
fn a_damaged_memory_is_left_as_it_is() {
    let stage = Project::new();
    assert!(stage.run_exec(&[], "true").status.success());
    let damaged = vec![b'x'; 20_000];
    fs::write(stage.database(), &damaged).unwrap();
    let ran = stage.run_exec(&[], "touch ran");
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(70), "{said}");
    assert!(said.contains("damaged") && said.contains("hint"), "{said}");
    assert!(fs::read(stage.database()).unwrap() == damaged);
    assert!(!stage.path("ran").exists());
}

#[test]
fn a_newer_memory_is_left_as_it_is() {
    let stage = Project::new();
    assert!(stage.run_exec(&[], "true").status.success());
    let file = fs::OpenOptions::new().write(true).open(stage.database()).unwrap();
    file.write_all_at(&99_u32.to_be_bytes(), SCHEMA_AT).unwrap();
    let before = fs::read(stage.database()).unwrap();
    let ran = stage.run_exec(&[], "touch ran");
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(78), "{said}");
    assert!(said.contains("newer version"), "{said}");
    assert!(fs::read(stage.database()).unwrap() == before);
    assert!(!stage.path("ran").exists());
}

#[test]
fn a_holder_that_does_not_listen_is_named() {
    let stage = Project::new();
    assert!(stage.run_exec(&[], "true").status.success());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = SqliteStore::open(stage.database()).unwrap();
    let holder = Holder { pid: 4_711, verb: "test".into(), since: Time::from_millis(1) };
    let claim = runtime.block_on(store.claim_project(&stage.name(), &holder)).unwrap();
    let ran = stage.run_exec(&[], "touch ran");
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(75), "{said}");
    assert!(said.contains("`unstuck test` (process 4711) has locked the project"), "{said}");
    assert!(!stage.path("ran").exists());
    drop(claim);
    assert!(stage.run_exec(&[], "true").status.success());
}

#[test]
fn a_holder_that_does_not_answer_is_named() {
    let stage = Project::new();
    stage.fifos(&["up", "go"]);
    let holder = stage.start_exec(&["--name", "a"], "echo >up; read line <go");
    stage.hear("up");
    holder.signal(Signal::STOP);
    let ran = stage.run_exec(&["--name", "b"], "touch ran");
    let said = ran.err();
    assert_eq!(ran.status.code(), Some(75), "{said}");
    assert!(said.contains("`unstuck exec`") && said.contains("does not answer"), "{said}");
    holder.signal(Signal::CONT);
    stage.let_go("go");
    assert_eq!(holder.wait().code(), Some(0));
}

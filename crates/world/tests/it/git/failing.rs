//! The faults of failures.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_testkit::stage::{TestRepo, make_fifo, write_program};
use unstuck_world::git::Git;

use super::git;
use crate::support::block_on;

fn code<T: std::fmt::Debug>(result: Result<T, Fault>) -> Code {
    result.unwrap_err().code()
}

// T4.22: the one thing a failed status must never be is an empty list of changes.
#[test]
fn a_status_that_fails_is_a_fault_and_no_empty_list() {
    let repo = TestRepo::with(&[("a", "1")]);
    fs::write(repo.path(".git/index"), "not an index").unwrap();
    let fault = block_on(git(&repo).status()).unwrap_err();
    assert_eq!(fault.code(), Code::GitStatusFailed);
    assert_eq!(fault.source, "git.status");
    let Kind::GitStatusFailed(context) = fault.kind else { panic!() };
    assert_eq!((context.operation.as_str(), context.exit), ("status", Some(128)));
}

#[test]
fn what_is_missing_is_for_a_person_to_mend() {
    let empty = TestRepo::empty();
    assert_eq!(code(block_on(git(&empty).resolve_head())), Code::PreconditionMissing);
    let outside = Git::new("git", tempfile::tempdir().unwrap().path());
    assert_eq!(code(block_on(outside.read_layout())), Code::PreconditionMissing);
    let none = Git::new("no-such-git", &empty.root);
    assert_eq!(code(block_on(none.read_layout())), Code::PreconditionMissing);
    assert_eq!(code(block_on(none.status())), Code::PreconditionMissing);
}

#[test]
fn a_lock_file_is_seen() {
    let repo = TestRepo::with(&[("a", "1")]);
    repo.write("a", "2");
    fs::write(repo.path(".git/index.lock"), "").unwrap();
    assert_eq!(
        code(block_on(git(&repo).stage_paths([std::path::Path::new("a")]))),
        Code::GitLocked
    );
    // Looking needs no lock.
    assert_eq!(block_on(git(&repo).status()).unwrap().len(), 1);
}

#[test]
fn a_git_that_hangs_is_ended_with_all_it_started() {
    let repo = TestRepo::with(&[("a", "1")]);
    let slow = repo.beside("slow-git");
    let fifo = repo.beside("alive");
    make_fifo(&fifo);
    let mut alive = fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).unwrap())
        .open(&fifo)
        .unwrap();
    write_program(&slow, &format!("exec 9>'{}'\nsleep 1000 & wait", fifo.display()));
    let git = Git::new(&slow, &repo.root).with_timeout(Duration::from_millis(200));
    assert_eq!(code(block_on(git.status())), Code::OperationTimeout);
    // It ends only when no process holds the other end any more.
    fcntl_setfl(&alive, OFlags::empty()).unwrap();
    assert_eq!(alive.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_git_that_dies_is_a_crash() {
    let repo = TestRepo::with(&[("a", "1")]);
    let dying = repo.beside("dying-git");
    write_program(&dying, "kill -SEGV $$");
    assert_eq!(code(block_on(Git::new(&dying, &repo.root).status())), Code::ToolCrash);
    // One that says nothing sensible is not believed.
    fs::write(&dying, "#!/bin/sh\necho all is well\n").unwrap();
    assert_eq!(code(block_on(Git::new(&dying, &repo.root).status())), Code::GitStatusFailed);
}

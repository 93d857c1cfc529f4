//! The build's branch goes to the remote, at most once, and what is refused there stops nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use unstuck_core::engine::{Event, TaskState};
use unstuck_core::fault::Code;

use crate::build::repo::{Repo, git_in};
use crate::build::scripts::{Job, push, write};
use crate::build::stage::Stage;

fn with_remote() -> (Repo, PathBuf) {
    let repo = Repo::with(&[]);
    let remote = repo.beside("remote.git");
    repo.git(["init", "-q", "--bare", remote.to_str().unwrap()]);
    repo.git(["remote", "add", "origin", remote.to_str().unwrap()]);
    (repo, remote)
}

#[tokio::test]
async fn what_landed_is_pushed() {
    let (repo, remote) = with_remote();
    let jobs = vec![
        Job::new("a", [&[write("a", "a\n")]]).then(push()),
        Job::new("b", [&[write("b", "b\n")]]).then(push()).after("a"),
    ];
    let stage = Stage::build(repo, jobs).await;
    stage.done().await;
    let there = git_in(&remote, ["rev-parse", &Stage::branch()]).unwrap();
    assert_eq!(there, stage.repo.git(["rev-parse", &Stage::branch()]));
}

// T4.16
#[tokio::test]
async fn a_push_that_is_refused_twice_is_a_warning() {
    let (repo, remote) = with_remote();
    let hook = remote.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let stage = Stage::build(repo, vec![Job::new("a", [&[write("a", "a\n")]]).then(push())]).await;
    assert_eq!(stage.ended().await["a"], TaskState::Done);
    let codes: Vec<Code> = stage.faults().await.iter().map(|fault| fault.code()).collect();
    assert_eq!(codes, [Code::GitPushFailed, Code::GitPushFailed]);
    let events = stage.events().await;
    assert!(events.iter().any(|event| matches!(event.event, Event::Warned { .. })));
}

// T4.11
#[tokio::test]
async fn a_red_check_before_the_push_is_replanned() {
    let (repo, _) = with_remote();
    let mut job = Job::new("a", [&[write("a", "bad\n")], &[write("a", "good\n")]]).then(push());
    job.pre_push.push("grep -q good a || { echo 'error: a is bad'; exit 1; }".to_owned());
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let codes: Vec<Code> = stage.faults().await.iter().map(|fault| fault.code()).collect();
    assert_eq!(codes, [Code::ValidationPrePush]);
    assert!(stage.assignments("a")[1].prompt.contains("error: a is bad"));
    assert_eq!(stage.repo.file_at(&Stage::branch(), "a").unwrap(), "good");
    let range = format!("main..{}", Stage::branch());
    assert_eq!(stage.repo.subjects(&range).len(), 2, "the second goes on from the first");
}

//! The build's branch goes to the remote, at most once, and what is refused there stops nothing.

use std::path::PathBuf;

use unstuck_core::engine::{Event, TaskState};
use unstuck_core::fault::Code;
use unstuck_testkit::stage::{TestRepo, run_git, write_program};

use crate::build::build_project::Stage;
use crate::build::scripts::{Job, push, write};

fn with_remote() -> (TestRepo, PathBuf) {
    let repo = TestRepo::with(&[]);
    let remote = repo.add_remote();
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
    let there = run_git(&remote, ["rev-parse", &Stage::branch()]);
    assert_eq!(there, stage.repo.git(["rev-parse", &Stage::branch()]));
}

// T4.16
#[tokio::test]
async fn a_push_that_is_refused_twice_is_a_warning() {
    let (repo, remote) = with_remote();
    write_program(&remote.join("hooks/pre-receive"), "exit 1");
    let stage = Stage::build(repo, vec![Job::new("a", [&[write("a", "a\n")]]).then(push())]).await;
    assert_eq!(stage.ended().await["a"], TaskState::Done);
    let codes = stage.fault_codes().await;
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
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::ValidationPrePush]);
    assert!(stage.assignments("a")[1].prompt.contains("error: a is bad"));
    assert_eq!(stage.repo.file_at(&Stage::branch(), "a").unwrap(), "good");
    let range = format!("main..{}", Stage::branch());
    assert_eq!(stage.repo.subjects(&range).len(), 2, "the second goes on from the first");
}

//! Room on the disk.

use unstuck_core::fault::Code;
use unstuck_core::question::QuestionKind;

use crate::build::repo::Repo;
use crate::build::scripts::{Job, write};
use crate::build::stage::{Set, Stage};

#[tokio::test]
async fn a_worktree_is_gone_when_its_task_is_done() {
    let repo = Repo::with(&[("mine", "mine\n")]);
    let stage = Stage::build(repo, vec![Job::new("a", [&[write("a", "a\n")]])]).await;
    stage.done().await;
    assert!(!stage.worktree("a").exists());
    assert_eq!(stage.repo.changed_by(&Stage::branch()), ["a"]);
}

#[tokio::test]
async fn without_room_nothing_begins_and_a_person_is_asked() {
    let repo = Repo::with(&[("mine", "mine\n")]);
    let set = Set { disk_free_bytes_min: u64::MAX, ..Set::default() };
    let stage = Stage::with(set, repo, vec![Job::new("a", [&[write("a", "a\n")]])]).await;
    let question = stage.question().await;
    assert_eq!(question.kind, QuestionKind::Hands);
    assert!(stage.faults().await.iter().all(|fault| fault.code() == Code::EnvDiskFull));
    assert_eq!(stage.assignments("a").len(), 0, "no agent was started");
}

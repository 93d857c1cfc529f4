//! Room on the disk.

use unstuck_core::fault::Code;
use unstuck_core::question::QuestionKind;
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::{Set, Stage};
use crate::build::scripts::{Job, write};

#[tokio::test]
async fn a_worktree_is_gone_when_its_task_is_done() {
    let repo = TestRepo::with(&[("mine", "mine\n")]);
    let stage = Stage::build(repo, vec![Job::new("a", [&[write("a", "a\n")]])]).await;
    stage.done().await;
    assert!(!stage.worktree("a").exists());
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["a"]);
}

#[tokio::test]
async fn without_room_nothing_begins_and_a_person_is_asked() {
    let repo = TestRepo::with(&[("mine", "mine\n")]);
    let set = Set { disk_free_bytes_min: u64::MAX, ..Set::default() };
    let stage = Stage::with(set, repo, vec![Job::new("a", [&[write("a", "a\n")]])]).await;
    let question = stage.wait_for_question().await;
    assert_eq!(question.kind, QuestionKind::Hands);
    assert!(stage.faults().await.iter().all(|fault| fault.code() == Code::EnvDiskFull));
    assert_eq!(stage.assignments("a").len(), 0, "no agent was started");
}

//! Builds in the person's own tree.

use std::fs;

use unstuck_core::engine::TaskState;
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::{Set, Stage};
use crate::build::fifo::Fifo;
use crate::build::scripts::{Job, run, write};

fn repo() -> TestRepo {
    let repo = TestRepo::with(&[("mine", "mine\n"), (".gitignore", "cache\n")]);
    repo.write("cache", "what git does not see\n");
    repo
}

async fn build(repo: TestRepo, jobs: Vec<Job>) -> Stage {
    Stage::with(Set { in_place: true, ..Set::default() }, repo, jobs).await
}

#[tokio::test]
async fn tasks_land_one_after_the_other_on_the_branch_that_is_checked_out() {
    let commits = run("git add -A && git commit -qm own && echo b >> b");
    let outside = [write("a", "a\n"), write("mine", "yours\n")];
    let jobs = vec![
        Job::new("a", [&outside, &[write("a", "a\n")]]).allowed(&["a"]),
        Job::new("b", [&[write("b", "b\n"), commits]]).checked("grep -q b b"),
    ];
    let stage = build(repo(), jobs).await;
    stage.done().await;
    let repo = &stage.repo;
    assert_eq!(repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
    assert_eq!(repo.git(["rev-parse", "main"]), repo.git(["rev-parse", &Stage::branch()]));
    let mut subjects = repo.subjects("main~2..main");
    subjects.sort();
    assert_eq!(subjects, ["Do a", "Do b"], "an agent's own commits are no part of it");
    assert_eq!(fs::read_to_string(repo.root.join("mine")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(repo.root.join("cache")).unwrap(), "what git does not see\n");
    assert!(!repo.root.join(".unstuck/worktrees").exists());
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::ScopeOutsideAllowed]);
}

#[tokio::test]
async fn a_tree_with_changes_of_its_own_is_left_alone() {
    let repo = repo();
    repo.write("mine", "half a thought\n");
    let before = repo.checkout_state();
    let stage = build(repo, vec![Job::new("a", [&[write("a", "a\n")]])]).await;
    let question = stage.wait_for_question().await;
    assert_eq!(question.kind, QuestionKind::Hands);
    assert_eq!(question.fault.unwrap().code(), Code::PreconditionMissing);
    assert_eq!(stage.repo.checkout_state(), before);
    stage.repo.git(["checkout", "-q", "mine"]);
    stage.answer(Decision::ProvideCredentials, None).await;
    stage.done().await;
    assert_eq!(stage.repo.files_changed_by("main"), ["a"]);
}

// B12
#[tokio::test]
async fn after_a_crash_the_work_goes_on_in_the_same_tree() {
    let repo = repo();
    let gate = Fifo::new(&repo, "gate");
    let steps = [write("one", "1\n"), gate.waits(), run("cp one two")];
    let stage = build(repo, vec![Job::new("a", [&steps]).checked("test -e two")]).await;
    stage.calls(2).await;
    let stage = stage.crash().await;
    stage.assigned("a", 2).await;
    gate.let_go().await;
    stage.done().await;
    assert_eq!(stage.repo.files_changed_by("main"), ["one", "two"]);
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[tokio::test]
async fn what_the_person_commits_meanwhile_is_not_lost() {
    let repo = repo();
    let gate = Fifo::new(&repo, "gate");
    let steps = [write("a", "a\n"), gate.waits()];
    let stage = build(repo, vec![Job::new("a", [&steps])]).await;
    stage.calls(2).await;
    stage.repo.git(["commit", "-q", "--allow-empty", "-m", "the person's own"]);
    let own = stage.repo.git(["rev-parse", "main"]);
    gate.let_go().await;
    let fault = stage.wait_for_question().await.fault.unwrap();
    assert_eq!(fault.code(), Code::PreconditionMissing, "{fault:?}");
    assert_eq!(stage.repo.git(["rev-parse", "main"]), own);
    assert_eq!(fs::read_to_string(stage.repo.root.join("a")).unwrap(), "a\n");
    let parked = stage.look(|s| s.tasks().all(|t| matches!(t.state, TaskState::Parked { .. })));
    assert!(parked.await);
}

const ASKS: &str = r#"{blocked = "which colour?"}"#;

// B89
#[tokio::test]
async fn what_the_person_changes_while_it_waits_is_theirs() {
    let steps = [write("a", "a\n"), ASKS.to_owned(), write("b", "b\n")];
    let stage = build(repo(), vec![Job::new("a", [&steps])]).await;
    stage.wait_for_question().await;
    stage.repo.write("mine", "mine\nand more\n");
    stage.repo.write("notes", "a thought\n");
    stage.repo.write("a", "a\nmended by hand\n");
    stage.answer(Decision::ProvideGuidance, None).await;
    stage.done().await;
    assert_eq!(stage.repo.files_changed_by("main"), ["a", "b"]);
    assert_eq!(stage.repo.git(["show", "main:a"]), "a\nmended by hand");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), " M mine\n?? notes");
}

// B89
#[tokio::test]
async fn work_that_is_left_out_is_saved_and_taken_away_before_the_next_task() {
    let first = [write("a", "a\n"), write("mine", "yours\n"), ASKS.to_owned()];
    let jobs = vec![Job::new("a", [&first]), Job::new("b", [&[write("b", "b\n")]])];
    let stage = build(repo(), jobs).await;
    stage.wait_for_question().await;
    let tasks = stage.look(|s| s.tasks().map(|t| t.attempts).collect::<Vec<u32>>()).await;
    assert_eq!(tasks, [1, 0], "the tree is taken");
    stage.answer(Decision::SkipFeature, None).await;
    let ended = stage.ended().await;
    assert!(matches!(ended["a"], TaskState::Skipped { .. }), "{ended:?}");
    assert_eq!(ended["b"], TaskState::Done);
    let repo = &stage.repo;
    assert_eq!(repo.files_changed_by("main"), ["b"]);
    assert_eq!(repo.git(["status", "--porcelain"]), "");
    let saved = repo.git(["for-each-ref", "--format=%(refname)", "refs/unstuck/attempts"]);
    assert_eq!(repo.git(["show", &format!("{saved}:a")]), "a");
    assert_eq!(repo.git(["show", &format!("{saved}:mine")]), "yours");
}

//! Work that does not pass is done another way, with what failed at hand.

use unstuck_core::fault::Code;
use unstuck_testkit::stage::{TestRepo, run_git};

use crate::build::build_project::Stage;
use crate::build::scripts::{Job, run, write};

const CHECK: &str = "grep -q good page.txt || { echo 'error: the page is bad'; exit 1; }";

// B12, T4.11
#[tokio::test]
async fn a_red_check_is_in_the_next_prompt_and_the_tree_is_kept_once() {
    let job = Job::new(
        "page",
        [
            &[write("page.txt", "bad\n"), write("extra.txt", "extra\n")],
            &[run("cp extra.txt seen.txt"), write("page.txt", "worse\n")],
            &[run("test ! -e extra.txt && echo yes > fresh.txt"), write("page.txt", "good\n")],
        ],
    );
    let stage = Stage::build(TestRepo::with(&[]), vec![job.checked(CHECK)]).await;
    stage.done().await;
    let told = stage.assignments("page");
    assert_eq!(told.len(), 3);
    assert!(!told[0].prompt.contains("FAILED"), "{}", told[0].prompt);
    for (attempt, tree) in [(1, "The tree was kept"), (2, "The tree was reset to the base")] {
        let prompt = &told[attempt].prompt;
        for part in ["error: the page is bad", "the goal of page", tree] {
            assert!(prompt.contains(part), "{part} is not in {prompt}");
        }
        assert!(prompt.contains(&format!("approach {} of 3", attempt + 1)), "{prompt}");
        assert_eq!(told[attempt].thread, None, "the conversation is a new one");
    }
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["fresh.txt", "page.txt"]);
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::ValidationPreCommit, Code::ValidationPreCommit]);
}

// B1: what failed is listed for the next attempt, and doing it a third time is not even checked.
#[tokio::test]
async fn an_approach_that_failed_is_named_and_not_paid_for_again() {
    let same = || vec![write("page.txt", "bad\n"), run("echo checked-by-hand >&2")];
    let attempts = [same(), same(), same(), vec![write("page.txt", "good\n")]];
    let count = "echo >> ../../../checks";
    let job = Job::new("page", attempts.each_ref().map(Vec::as_slice));
    let job = job.checked(&format!("{count}; {CHECK}"));
    let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    let codes = stage.fault_codes().await;
    let red = Code::ValidationPreCommit;
    assert_eq!(codes, [red, red, Code::LogicRepeatedApproach]);
    for told in &stage.assignments("page")[1..] {
        assert!(told.prompt.contains("checked-by-hand"), "{}", told.prompt);
    }
    let checks = std::fs::read_to_string(stage.repo.root.join("checks")).unwrap();
    // A red check is run twice: before any agent worked, and for the same approach two times. Then
    // the other one, and once more in a fresh checkout.
    assert_eq!(checks.lines().count(), 8);
}

// B12: every attempt that failed is kept, and its patch applies.
#[tokio::test]
async fn the_attempts_that_failed_are_kept() {
    let job = Job::new(
        "page",
        [&[write("page.txt", "bad\n"), run("cp page.txt one.txt")], &[write("page.txt", "good\n")]],
    );
    let stage = Stage::build(TestRepo::with(&[]), vec![job.checked(CHECK)]).await;
    stage.done().await;
    let repo = &stage.repo;
    let kept = repo.git(["for-each-ref", "--format=%(refname)", "refs/unstuck/attempts"]);
    assert_eq!(kept, "refs/unstuck/attempts/r0");
    assert_eq!(repo.file_at(&kept, "one.txt").unwrap(), "bad");
    let patch = repo.beside("attempt.patch");
    let diff = repo.git(["diff", "main", &kept]);
    std::fs::write(&patch, diff + "\n").unwrap();
    run_git(&repo.root, ["apply", "--check", patch.to_str().unwrap()]);
}

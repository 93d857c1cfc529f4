//! Tasks that land one after the other: each is checked on the head it lands on.

use unstuck_core::engine::TaskState;
use unstuck_core::fault::Code;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_testkit::stage::{TestRepo, write_program};

use crate::build::build_project::Stage;
use crate::build::fifo::Fifo;
use crate::build::scripts::{Job, run, write};

/// Two tasks that begin on the same commit; the first has landed before the second is checked.
async fn one_after_the_other(
    repo: TestRepo,
    check: &str,
    first: &[String],
    second: [&[String]; 2],
) -> Stage {
    let (begun, go_first, go_second) =
        (Fifo::new(&repo, "begun"), Fifo::new(&repo, "one"), Fifo::new(&repo, "two"));
    let first = Job::new("first", [&[&[go_first.waits()][..], first].concat()]);
    let waits = [&[begun.says(), go_second.waits()][..], second[0]].concat();
    let second = Job::new("second", [&waits, second[1]]);
    let stage = Stage::build(repo, vec![first.checked(check), second.checked(check)]).await;
    begun.hear().await;
    go_first.let_go().await;
    let landed = |name: &str| name == "first";
    stage
        .wait_until(move |state| {
            state.tasks().any(|task| landed(&task.spec.name) && task.state == TaskState::Done)
        })
        .await;
    go_second.let_go().await;
    stage.done().await;
    stage
}

// B14
#[tokio::test]
async fn two_that_are_green_alone_and_red_together_never_land_together() {
    let check = "test ! -e a -o ! -e b || { echo 'error: a and b do not fit'; exit 1; }";
    let second = [&[write("b", "b\n")][..], &[run("rm b"), write("c", "c\n")]];
    let stage = one_after_the_other(TestRepo::with(&[]), check, &[write("a", "a\n")], second).await;
    let prompt = &stage.assignments("second")[1].prompt;
    assert!(prompt.contains("error: a and b do not fit"), "{prompt}");
    let (repo, branch) = (&stage.repo, Stage::branch());
    assert_eq!(repo.subjects(&format!("main..{branch}")), ["Do first", "Do second"]);
    let files = repo.git(["ls-tree", "--name-only", &branch]);
    assert_eq!(files, "a\nc");
}

#[tokio::test]
async fn a_conflict_is_replanned_on_the_new_head() {
    let repo = TestRepo::with(&[("page", "old\n")]);
    let second = [&[write("page", "second\n")][..], &[write("page", "first and second\n")]];
    let stage = one_after_the_other(repo, "true", &[write("page", "first\n")], second).await;
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::GitConflict]);
    let prompt = &stage.assignments("second")[1].prompt;
    assert!(prompt.contains("conflict in page"), "{prompt}");
    assert_eq!(stage.repo.file_at(&Stage::branch(), "page").unwrap(), "first and second");
}

#[tokio::test]
async fn a_branch_that_a_person_moved_is_checked_again() {
    let repo = TestRepo::with(&[]);
    let (moved, checks) = (repo.beside("moved"), repo.beside("checks"));
    // Between our commit and the merge, a person commits to the build's branch.
    hook(
        &repo,
        "post-commit",
        &format!(
            "test -e {0} && exit; touch {0}; b={1}; \
             unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE; cd {2}; \
             new=$(echo theirs | git commit-tree $b^{{tree}} -p $b); git update-ref $b $new",
            moved.display(),
            Stage::branch(),
            repo.root.display()
        ),
    );
    let job = Job::new("a", [&[write("a", "a\n")]]);
    let job = job.checked(&format!("echo checked >> {}", checks.display()));
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let range = format!("main..{}", Stage::branch());
    assert_eq!(stage.repo.subjects(&range), ["theirs", "Do a"]);
    // Once at the base, and once on each head.
    assert_eq!(std::fs::read_to_string(checks).unwrap().lines().count(), 3);
    assert_eq!(stage.faults().await.len(), 0, "no fault was raised");
}

// T4.11: what a hook says goes back to the agent like the output of a check.
#[tokio::test]
async fn a_hook_that_refuses_is_a_red_check() {
    let repo = TestRepo::with(&[]);
    hook(&repo, "pre-commit", "grep -q good page || { echo 'the hook says no'; exit 1; }");
    let job = Job::new("page", [&[write("page", "bad\n")], &[write("page", "good\n")]]);
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let faults = stage.faults().await;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].code(), Code::ValidationPreCommit);
    assert_eq!(faults[0].source, "hook:pre-commit");
    let prompt = &stage.assignments("page")[1].prompt;
    assert!(prompt.contains("the hook says no"), "{prompt}");
}

// T4.22: nothing passes unchecked.
#[tokio::test]
async fn when_git_cannot_say_what_changed_a_person_is_asked() {
    let mut repo = TestRepo::with(&[]);
    let broken = repo.beside("broken");
    let program = repo.beside("git");
    let script = format!(
        "for word; do test \"$word\" = status && test -e {} && exit 128; done\n\
         exec git \"$@\"",
        broken.display()
    );
    write_program(&program, &script);
    repo.program = program;
    let job = Job::new("a", [&[write("a", "a\n"), run(&format!("touch {}", broken.display()))]]);
    let stage = Stage::build(repo, vec![job]).await;
    let question = stage.wait_for_question().await;
    assert_eq!(question.kind, QuestionKind::Hands);
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::GitStatusFailed, Code::GitStatusFailed], "once more, then no more");
    std::fs::remove_file(broken).unwrap();
    stage.answer(Decision::SkipFeature, None).await;
    stage.ended().await;
    assert_eq!(stage.repo.subjects(&format!("main..{}", Stage::branch())), Vec::<String>::new());
}

fn hook(repo: &TestRepo, name: &str, script: &str) {
    write_program(&repo.path(".git/hooks").join(name), script);
}

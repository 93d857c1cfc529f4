//! What was red before, and checks that were tampered with.

use unstuck_core::fault::Code;
use unstuck_core::question::Decision;
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::Stage;
use crate::build::scripts::{Job, list, run, write};

const CHECK: &str = "cat trouble; test ! -s trouble";

// B15
#[tokio::test]
async fn a_check_that_was_red_before_is_said_and_not_charged() {
    let repo = TestRepo::with(&[("trouble", "error: old trouble\n")]);
    let job = Job::new("a", [&[write("a", "a\n")]]).checked(CHECK);
    // Another task has its own checks, and another base.
    let other = Job::new("b", [&[write("b", "b\n")]]).checked(&format!("{CHECK} # b")).after("a");
    let stage = Stage::build(repo, vec![job.comparing(), other.comparing()]).await;
    stage.done().await;
    assert_eq!(stage.faults().await.len(), 0);
    let told = stage.narrations().await;
    assert_eq!(told.len(), 2, "{told:?}");
    let said = format!("`{CHECK}` still fails, only with what failed before the work began.");
    assert_eq!(told[0], said);
}

/// A task that makes an old failure another one, and then leaves it as it was.
fn making_worse() -> (TestRepo, Job) {
    let repo = TestRepo::with(&[("trouble", "error: old trouble\n")]);
    let worse = [write("trouble", "error: quite another one\n")];
    let job = Job::new("a", [&worse, &[run("git checkout trouble"), write("a", "a\n")]]);
    (repo, job.checked(CHECK))
}

// B15: what is red in another way is the agent's.
#[tokio::test]
async fn new_trouble_in_a_check_that_was_red_before_is_charged() {
    let (repo, job) = making_worse();
    let stage = Stage::build(repo, vec![job.comparing()]).await;
    stage.done().await;
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::ValidationPreCommit]);
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["a"]);
}

// B15: by default a person decides about what is left of the old failure.
#[tokio::test]
async fn by_default_a_check_that_is_red_as_before_is_asked_about() {
    let (repo, job) = making_worse();
    let stage = Stage::build(repo, vec![job]).await;
    stage.answer(Decision::Unrelated, None).await;
    stage.done().await;
    let codes = stage.fault_codes().await;
    assert_eq!(codes, [Code::ValidationPreCommit, Code::ValidationRedBase]);
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["a"]);
}

// B19
#[tokio::test]
async fn a_check_that_was_edited_is_put_back_before_it_runs() {
    let repo =
        TestRepo::with(&[("check.sh", "test -e fixed || { echo 'error: not fixed'; exit 1; }\n")]);
    let cheats = [write("check.sh", "exit 0\n"), write("a", "a\n")];
    let mut job = Job::new("a", [&cheats, &[write("fixed", "yes\n")]]).checked("sh check.sh");
    job.protect = list(&["check.sh"]);
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    let faults = stage.faults().await;
    assert_eq!(faults.len(), 1, "{faults:?}");
    let prompt = &stage.assignments("a")[1].prompt;
    assert!(prompt.contains("changed and put back: check.sh"), "{prompt}");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["a", "fixed"]);
    assert!(stage.narrations().await[0].contains("change of check.sh was put back"));
}

#[tokio::test]
async fn marks_in_the_plan_of_the_build_are_put_back() {
    let repo = TestRepo::with(&[("plan.md", "- [ ] a\n- [ ] b\n"), ("list.md", "- [ ] c\n")]);
    let ticks =
        [write("plan.md", "- [x] a\n- [x] b\n"), write("list.md", "- [x] c\n"), write("a", "a\n")];
    let notes = [write("plan.md", "- [ ] a\n  A note.\n- [x] b\n")];
    let [mut first, mut second] = [Job::new("a", [&ticks]), Job::new("b", [&notes])];
    second.depends_on = list(&["a"]);
    for job in [&mut first, &mut second] {
        job.file = Some("plan.md".to_owned());
    }
    let stage = Stage::build(repo, vec![first, second]).await;
    stage.done().await;
    let branch = Stage::branch();
    assert_eq!(stage.repo.files_changed_by(&format!("{branch}~1")), ["a", "list.md"]);
    let text = stage.repo.file_at(&branch, "plan.md").unwrap();
    assert_eq!(text.trim_end(), "- [ ] a\n  A note.\n- [ ] b");
    let told = stage.narrations().await;
    assert!(told[0].contains("put back the check marks"), "{told:?}");
}

#[tokio::test]
async fn marks_in_the_file_of_the_task_itself_stay_beside_its_work() {
    let repo = TestRepo::with(&[("a.md", "- [ ] it is tested\n")]);
    let ticks = [write("a.md", "- [x] it is tested\n"), write("a", "a\n")];
    let mut job = Job::new("a", [&ticks]);
    job.file = Some("a.md".to_owned());
    let stage = Stage::build(repo, vec![job]).await;
    stage.done().await;
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["a", "a.md"]);
}

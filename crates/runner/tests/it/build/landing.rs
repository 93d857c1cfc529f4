//! A task that is done: its commit is on the build's branch, and nothing of the person's is touched.

use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::Stage;
use crate::build::scripts::{Job, run, say, write};

#[tokio::test]
async fn what_a_task_changed_is_one_commit_and_the_persons_things_are_as_they_were() {
    let repo = TestRepo::with(&[("page.txt", "old\n"), ("other.txt", "other\n")]);
    repo.write("other.txt", "edited by a person\n");
    repo.write("staged.txt", "staged by a person\n");
    repo.git(["add", "staged.txt"]);
    repo.write("new.txt", "not even added\n");
    let before = repo.checkout_state();
    let job = Job::new(
        "page",
        [&[
            say("I write the page."),
            write("page.txt", "new\n"),
            run("git commit -qam 'a commit of the agent'"),
            write("more/page.txt", "more\n"),
        ]],
    );
    let stage = Stage::build(repo, vec![job.checked("grep -q new page.txt")]).await;
    stage.done().await;
    let (repo, branch) = (&stage.repo, Stage::branch());
    assert_eq!(repo.subjects(&format!("main..{branch}")), ["Do page"]);
    assert_eq!(repo.files_changed_by(&branch), ["more/page.txt", "page.txt"]);
    assert_eq!(repo.file_at(&branch, "page.txt").unwrap(), "new");
    let words = repo.git(["log", "-1", "--format=%an <%ae>%n%b", &branch]);
    assert_eq!(words, "Ada <ada@example.org>\nUnstuck-Task: page\nUnstuck-Run: r0");
    assert_eq!(repo.checkout_state(), before);
    assert_eq!(stage.narrations().await, ["I write the page."]);
}

// I13: what a task needs is there when it begins.
#[tokio::test]
async fn a_task_begins_on_what_the_tasks_it_needs_left() {
    let first = Job::new("first", [&[write("first.txt", "1\n")]]);
    let second = Job::new("second", [&[run("cp first.txt second.txt")]]).after("first");
    let stage = Stage::build(TestRepo::with(&[]), vec![second, first]).await;
    stage.done().await;
    let range = format!("main..{}", Stage::branch());
    assert_eq!(stage.repo.subjects(&range), ["Do first", "Do second"]);
    assert_eq!(stage.repo.file_at(&Stage::branch(), "second.txt").unwrap(), "1");
}

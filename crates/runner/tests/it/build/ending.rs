//! Nothing of an agent is left when it is stopped, or when the process that ran it is gone.

use unstuck_core::engine::{BuildId, Command};
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::Stage;
use crate::build::fifo::{Fifo, until_none_left};
use crate::build::scripts::{Job, run, write};

/// A child in a session of its own that ignores polite signals. It does so once.
fn hangs(repo: &TestRepo, alive: &Fifo) -> Job {
    let line = format!(
        "test -e {0} && exit; touch {0}; exec 9>{1}; \
         setsid sh -c 'trap \"\" TERM HUP; echo x >&9; while :; do sleep 1000; done' & wait",
        repo.beside("begun").display(),
        alive.path().display()
    );
    Job::new("a", [&[run(&line), write("a.txt", "a\n")]])
}

// B13
#[tokio::test]
async fn an_agent_that_hangs_in_a_session_of_its_own_is_ended_with_its_build() {
    let repo = TestRepo::with(&[]);
    let fifo = Fifo::new(&repo, "alive");
    let job = hangs(&repo, &fifo);
    let stage = Stage::build(repo, vec![job]).await;
    let alive = fifo.listen().await;
    stage.submit(Command::Cancel { build: BuildId(0) }).await;
    until_none_left(alive).await;
}

// B13
#[tokio::test]
async fn after_a_crash_nothing_of_the_agent_is_left_when_another_begins() {
    let repo = TestRepo::with(&[]);
    let fifo = Fifo::new(&repo, "alive");
    let job = hangs(&repo, &fifo);
    let stage = Stage::build(repo, vec![job]).await;
    let old = fifo.listen().await;
    let stage = stage.crash().await;
    stage.done().await;
    assert_eq!(stage.assignments("a").len(), 2);
    until_none_left(old).await;
}

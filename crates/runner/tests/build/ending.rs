//! Nothing of an agent is left when it is stopped, or when the process that ran it is gone.

use unstuck_core::engine::{BuildId, Command};

use crate::fifo::Fifo;
use crate::repo::Repo;
use crate::scripts::{Job, run};
use crate::stage::Stage;

/// A child in a session of its own that nobody asks politely.
fn hangs(alive: &Fifo) -> Job {
    let line = format!(
        "exec 9>{}; setsid sh -c 'trap \"\" TERM HUP; echo x >&9; while :; do sleep 1000; done' & \
         wait",
        alive.path().display()
    );
    Job::new("a", [&[run(&line)]])
}

// B13
#[tokio::test]
async fn an_agent_that_hangs_in_a_session_of_its_own_is_ended_with_its_build() {
    let repo = Repo::with(&[]);
    let fifo = Fifo::new(&repo, "alive");
    let stage = Stage::build(repo, vec![hangs(&fifo)]).await;
    let alive = fifo.listen().await;
    stage.handle.command(Command::Cancel { build: BuildId(0) }).await.unwrap();
    alive.until_nobody().await;
}

// B13
#[tokio::test]
async fn after_a_crash_nothing_of_the_agent_is_left_when_another_begins() {
    let repo = Repo::with(&[]);
    let fifo = Fifo::new(&repo, "alive");
    let stage = Stage::build(repo, vec![hangs(&fifo)]).await;
    let old = fifo.listen().await;
    let stage = stage.crash().await;
    stage.assigned("a", 2).await;
    old.until_nobody().await;
    drop(stage);
}

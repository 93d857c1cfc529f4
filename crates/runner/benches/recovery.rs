//! How long it takes to go on after `kill -9` with ten thousand tasks in flight.
//!
//! The bench starts itself as another process, which begins a build on a real store; when every
//! task is in flight it is killed, and this process takes the project up and finishes everything.
//! Effects are performed in the process itself, so what is measured is ours: reading, deciding,
//! writing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{BuildState, Command, EffectKind, EffectOutcome, State, TaskId};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_runner::{
    Clock as _, EffectRequest, EffectResult, PerformScope, Performer, Runner, RunnerNotice,
    RunnerSetup, SystemClock,
};
use unstuck_store::{Holder, SqliteStore};

const TASKS: u32 = 10_000;

struct Fast {
    hangs: bool,
    commits: AtomicU64,
}

#[async_trait]
impl Performer for Fast {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        if self.hangs {
            stop.cancelled().await;
            return None;
        }
        let outcome = match order.effect.what {
            EffectKind::Attempt { .. } => EffectOutcome::Attempted {
                approach: Arc::new(Approach { files_changed: 1, ..Approach::default() }),
            },
            EffectKind::Commit => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                EffectOutcome::Done
            }
            _ => EffectOutcome::Done,
        };
        Some(outcome.into())
    }

    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match env::var_os("UNSTUCK_BENCH_FOLDER") {
        Some(folder) => runtime.block_on(begin(Path::new(&folder))),
        None => runtime.block_on(measure()),
    }
}

async fn open(folder: &Path) -> Runner {
    let clock = SystemClock;
    let setup = RunnerSetup {
        store: Arc::new(SqliteStore::open(folder.join("state.db")).unwrap()),
        project: "bench".into(),
        holder: Holder { pid: std::process::id(), verb: "bench".into(), since: clock.now() },
        policy: Arc::new(Policy::default()),
        clock: Arc::new(clock),
        gates: None,
        turns: None,
    };
    Runner::open(setup).await.unwrap()
}

/// Begins the build, says when everything is in flight, and hangs until it is killed.
async fn begin(folder: &Path) {
    let runner = open(folder).await;
    let handle = runner.handle();
    let running = tokio::spawn(runner.run());
    let world = Arc::new(Fast { hangs: true, commits: AtomicU64::new(0) });
    handle.attach_performer(PerformScope::Project, world).await.unwrap();
    let tasks =
        (0..TASKS).map(|n| TaskSpec { name: format!("task {n}"), ..TaskSpec::default() }).collect();
    let plan = Arc::new(Plan::new(tasks).unwrap());
    handle
        .submit_command(Command::StartBuild { plan, slots: TASKS, in_place: false })
        .await
        .unwrap();
    println!("in flight");
    std::io::stdout().flush().unwrap();
    running.await.unwrap().unwrap();
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Process::new(env::current_exe().unwrap())
        .env("UNSTUCK_BENCH_FOLDER", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "in flight\n");
    child.kill().unwrap();
    child.wait().unwrap();

    let start = Instant::now();
    let runner = open(folder.path()).await;
    let opened = start.elapsed();
    let handle = runner.handle();
    let mut notices = handle.subscribe_notices();
    let running = tokio::spawn(runner.run());
    handle.submit_command(Command::Forget { signature: None }).await.unwrap();
    let accepted = start.elapsed();
    let world = Arc::new(Fast { hangs: false, commits: AtomicU64::new(0) });
    handle.attach_performer(PerformScope::Project, Arc::clone(&world) as _).await.unwrap();
    let over = |state: &State| state.builds().all(|build| build.state == BuildState::Completed);
    while !handle.read_state(over).await.unwrap() {
        while let Ok(notice) = notices.recv().await {
            if let RunnerNotice::Event { recorded, .. } = notice
                && matches!(recorded.event, unstuck_core::engine::Event::BuildCompleted { .. })
            {
                break;
            }
        }
    }
    let finished = start.elapsed();
    handle.shut_down(false).await;
    running.await.unwrap().unwrap();
    let commits = world.commits.load(Ordering::Relaxed);
    println!("kill -9 with {TASKS} tasks in flight");
    println!("  opened after           {:>8.1} ms", opened.as_secs_f64() * 1e3);
    println!("  first command on disk  {:>8.1} ms   (limit 1,000)", accepted.as_secs_f64() * 1e3);
    println!("  everything finished    {:>8.1} ms   (limit 5,000)", finished.as_secs_f64() * 1e3);
    println!("  committed              {commits:>8} times, once each");
    assert_eq!(commits, u64::from(TASKS));
}

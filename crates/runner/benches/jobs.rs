//! Ten thousand scheduled jobs, of which a hundred a second are due, on a real store. Commands are
//! instant and performed in the process itself, so what is measured is ours: how late a job begins,
//! and what it takes to know ten thousand of them.
//!
//! `UNSTUCK_BENCH_SECONDS` asks for another length than a minute.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::env;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, EffectKind, EffectOutcome, Event, TaskId};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_core::time::Span;
use unstuck_runner::jobs::{JobTimetable, Schedule, Scheduler};
use unstuck_runner::{
    Clock as _, EffectRequest, EffectResult, PerformScope, Performer, Runner, RunnerHandle,
    RunnerSetup, SystemClock,
};
use unstuck_store::{Holder, SqliteStore};

const JOBS: u64 = 10_000;
/// Every job comes round in this time, so that a hundred are due each second.
const ROUND: Span = Span::from_secs(100);
const SECONDS: u64 = 60;

/// Performs everything at once, and notes when scripts begin.
#[derive(Default)]
struct Instantly(Mutex<Vec<(TaskId, unstuck_core::time::Time)>>);

#[async_trait]
impl Performer for Instantly {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        _stop: CancellationToken,
    ) -> Option<EffectResult> {
        if let EffectKind::Execute { .. } = order.effect.what {
            self.0.lock().unwrap().push((order.effect.task, SystemClock.now()));
        }
        Some(EffectOutcome::Done.into())
    }

    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let setup = RunnerSetup {
        store: Arc::new(SqliteStore::open(folder.path().join("state.db")).unwrap()),
        project: "bench".into(),
        holder: Holder { pid: 1, verb: "bench".into(), since: SystemClock.now() },
        policy: Arc::new(Policy::default()),
        clock: Arc::new(SystemClock),
        gates: None,
        turns: None,
    };
    let runner = Runner::open(setup).await.unwrap();
    let handle = runner.handle();
    let running = tokio::spawn(runner.run());
    let start = Instant::now();
    let tasks = define(&handle).await;
    let defined = start.elapsed();
    let world = Arc::new(Instantly::default());
    let scope = PerformScope::Tasks(Arc::new(tasks.iter().copied().collect()));
    handle.attach_performer(scope, Arc::clone(&world) as _).await.unwrap();
    let lateness = run(&handle, &tasks, &world).await;
    handle.shut_down(false).await;
    running.await.unwrap().unwrap();
    tell(lateness, defined);
}

async fn define(handle: &RunnerHandle) -> Vec<TaskId> {
    let mut asked = JoinSet::new();
    for n in 0..JOBS {
        let (name, job) = (format!("job {n}"), Some(JobSpec::default()));
        let spec = Arc::new(TaskSpec { name, job, ..TaskSpec::default() });
        let handle = handle.clone();
        asked.spawn(
            async move { handle.submit_command(Command::DefineJob { spec }).await.unwrap() },
        );
        if asked.len() > 256 {
            asked.join_next().await;
        }
    }
    while asked.join_next().await.is_some() {}
    let jobs = handle.read_state(|state| {
        let standing = state.jobs_build().and_then(|build| state.build(build)).unwrap();
        standing.tasks.clone()
    });
    jobs.await.unwrap()
}

/// Runs them for a while; how late each began, in milliseconds.
async fn run(handle: &RunnerHandle, tasks: &[TaskId], world: &Instantly) -> Vec<u64> {
    let mut scheduler = Scheduler::new(Arc::new(SystemClock));
    let start_at = SystemClock.now() + Span::from_secs(1);
    let step = ROUND.as_millis() / JOBS;
    let due = |n: u64| start_at + Span::from_millis(n * step);
    for (n, task) in (0..).zip(tasks) {
        // As if it had last run one round before its time comes.
        let (schedule, last) = (Schedule::parse("100s").unwrap(), due(n) - ROUND);
        scheduler.set_timetable(
            *task,
            JobTimetable { schedule, zone: TimeZone::UTC, last, held: false },
        );
    }
    let seconds = env::var("UNSTUCK_BENCH_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let until = Instant::now() + Duration::from_secs(1 + seconds.unwrap_or(SECONDS));
    let mut asked = JoinSet::new();
    while Instant::now() < until {
        tokio::select! {
            Some(done) = asked.join_next(), if !asked.is_empty() => done.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
            due = scheduler.wait_for_due() => for task in due {
                let handle = handle.clone();
                asked.spawn(async move {
                    let decided = handle.submit_command(Command::JobDue { task }).await.unwrap();
                    let fired = |event: &Event| matches!(event, Event::JobFired { .. });
                    assert!(decided.events.iter().any(|recorded| fired(&recorded.event)));
                });
            }
        }
    }
    while asked.join_next().await.is_some() {}
    let began = world.0.lock().unwrap();
    let first = tasks[0].0;
    let late = |(task, at): &(TaskId, unstuck_core::time::Time)| {
        at.since(due(u64::from(task.0 - first))).as_millis()
    };
    began.iter().map(late).collect()
}

fn tell(mut lateness: Vec<u64>, defined: Duration) {
    lateness.sort_unstable();
    let at = |percent: usize| lateness[(lateness.len() * percent / 100).min(lateness.len() - 1)];
    println!("{JOBS} jobs defined in {:.2} s", defined.as_secs_f64());
    println!(
        "{} began, late by {} ms at the median, {} ms at p99 (limit 100), {} ms at most",
        lateness.len(),
        at(50),
        at(99),
        at(100),
    );
    println!("{:.1} MB resident at most (limit 120)", resident_max_mb());
}

/// The most memory it had, in megabytes.
fn resident_max_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default();
    kilobytes / 1_024.0
}

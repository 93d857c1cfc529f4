//! The virtual clock of the demo, and the real build with scripted agents at its pace. When no work is left at
//! the current time, the clock advances to the next sleeper; real work takes no virtual time.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectKind, TaskId};
use unstuck_core::fault::CheckStage;
use unstuck_core::policy::{Amount, BudgetLimits};
use unstuck_core::time::{Span, Time};
use unstuck_runner::build::{BuildPerformer, BuildSettings, TaskGates, TaskSettings, TaskWorker};
use unstuck_runner::{Clock, EffectRequest, EffectResult, Performer, ResultFiles, RunnerHandle};
use unstuck_world::agent::AttemptLimits;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::CommitAuthor;
use unstuck_world::process::{GuardCommand, Wall};
use unstuck_world::provider::Proxies;
use unstuck_world::provider::script::{AgentScript, ScriptedAgent};
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::validate::{BaselineMode, GateChecks, SecretScanner};
use unstuck_world::workspace::ProjectRepository;

use super::story::{self, CHAPTERS, DemoChapter, DemoShop, PERSON};
use crate::error::CliError;
use crate::project::own_guard;

/// Number of times that all runnable tasks are polled before time advances.
const ROUNDS: u32 = 64;
/// Interval between two checks that the disk has caught up.
const LOOK: Duration = Duration::from_micros(200);

/// The virtual clock.
pub(super) struct NightClock {
    now: watch::Sender<Time>,
    sleepers: Mutex<Sleepers>,
    /// Number of real operations in progress.
    happening: watch::Sender<u32>,
    /// The loop that uses this clock.
    handle: OnceLock<RunnerHandle>,
}

#[derive(Default)]
struct Sleepers {
    next: u64,
    /// The sleepers by their wake time and the order in which they began.
    until: BTreeSet<(Time, u64)>,
}

impl NightClock {
    pub(super) fn starting_at(now: Time) -> Self {
        Self {
            now: watch::Sender::new(now),
            sleepers: Mutex::default(),
            happening: watch::Sender::new(0),
            handle: OnceLock::new(),
        }
    }

    /// Sets the loop of this clock; until then time stands still.
    pub(super) fn set_handle(&self, handle: RunnerHandle) {
        // There is only one loop.
        let _ = self.handle.set(handle);
    }

    /// Advances the time to `at`, unless it is already later.
    pub(super) fn advance_to(&self, at: Time) {
        self.now.send_if_modified(|now| {
            let moves = at > *now;
            *now = at.max(*now);
            moves
        });
    }

    /// Waits until it is `at`, and stops time as long as the returned guard is held.
    async fn pause_at(&self, at: Time) -> ClockPause<'_> {
        self.wait_until(at).await;
        self.happening.send_modify(|count| *count += 1);
        ClockPause(self)
    }

    /// Stops time until all current work is complete.
    pub(super) async fn settle(&self) {
        self.happening.send_modify(|count| *count += 1);
        let still = ClockPause(self);
        while !self.wait_for_rest(1).await {}
        drop(still);
    }

    fn lock_sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the clock is at rest: exactly `happening` operations are in progress, all requests
    /// are on disk, and all runnable tasks have run.
    async fn wait_for_rest(&self, happening: u32) -> bool {
        // The sender lives as long as `self`, so the wait ends.
        let _ = self.happening.subscribe().wait_for(|count| *count == happening).await;
        for _ in 0..ROUNDS {
            let more = *self.happening.borrow() > happening;
            if more || !self.handle.get().is_some_and(RunnerHandle::is_idle) {
                tokio::time::sleep(LOOK).await;
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }
}

/// A guard that stops time while it is held.
struct ClockPause<'a>(&'a NightClock);

impl Drop for ClockPause<'_> {
    fn drop(&mut self) {
        self.0.happening.send_modify(|count| *count -= 1);
    }
}

/// A place among the sleepers, released however the wait ends.
struct SleeperSlot<'a> {
    clock: &'a NightClock,
    key: (Time, u64),
}

impl SleeperSlot<'_> {
    fn is_first(&self) -> bool {
        self.clock.lock_sleepers().until.first() == Some(&self.key)
    }
}

impl Drop for SleeperSlot<'_> {
    fn drop(&mut self) {
        self.clock.lock_sleepers().until.remove(&self.key);
    }
}

#[async_trait]
impl Clock for NightClock {
    fn now(&self) -> Time {
        *self.now.borrow()
    }

    async fn wait_until(&self, at: Time) {
        let place = {
            let mut sleepers = self.lock_sleepers();
            sleepers.next += 1;
            let key = (at, sleepers.next);
            sleepers.until.insert(key);
            SleeperSlot { clock: self, key }
        };
        // Sleepers wake one after the other, also at the same time, so that a night is reproducible.
        loop {
            if !place.is_first() {
                tokio::time::sleep(LOOK).await;
            } else if self.wait_for_rest(0).await && place.is_first() {
                return self.advance_to(at);
            }
        }
    }
}

/// The cost of an agent's second in the story, in millionths.
const MICROS_PER_SECOND: u64 = 1_200;
/// Timeout of a command. None of them takes a second.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
/// Environment variables of agents, tests and the deployment.
const PASSED_ON: [&str; 2] = ["PATH", "HOME"];
/// Paths that an agent must not change to make a test green.
const PROTECTED: &str = "tests/**";

/// Delays each piece of work by its virtual time before it is performed.
pub(super) struct PacedPerformer {
    pub(super) build: BuildPerformer,
    pub(super) clock: Arc<NightClock>,
}

#[async_trait]
impl Performer for PacedPerformer {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let work = order.effect.what;
        let attempt = order.attempt;
        let takes = story::virtual_duration(&order.task.name, work, attempt);
        let until = self.clock.now() + takes;
        let _still = tokio::select! {
            still = self.clock.pause_at(until) => still,
            () = stop.cancelled() => return None,
        };
        let report = self.build.perform_effect(order, stop).await?;
        Some(EffectResult { spent: attempt_cost(work, takes), ..report })
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        self.build.reap_leftovers(tasks).await;
    }
}

const fn attempt_cost(work: EffectKind, takes: Span) -> Amount {
    match work {
        EffectKind::Attempt { .. } => {
            Amount { money_micros: takes.as_millis() / 1_000 * MICROS_PER_SECOND, ..Amount::ZERO }
        }
        _ => Amount::ZERO,
    }
}

pub(super) async fn shop_build_settings(
    folder: &Path,
    shop: &DemoShop,
) -> Result<BuildSettings, CliError> {
    let guard = own_guard()?;
    let runs = folder.join("runs");
    fs::create_dir_all(&runs)
        .map_err(|source| CliError::Folder { place: runs.display().to_string(), source })?;
    let project = ProjectRepository::open("git", &shop.repository_path()).await?;
    let start = project.git().resolve_head().await?;
    let passed_on = PASSED_ON.iter().filter_map(|name| Some((name.into(), env::var_os(name)?)));
    let hosting: (OsString, OsString) = ("HOSTING".into(), shop.hosting_path().into());
    let tasks = CHAPTERS
        .iter()
        .map(|chapter| (chapter.name.to_owned(), chapter_task_settings(chapter, &guard)));
    let (name, email) = PERSON;
    Ok(BuildSettings {
        withheld: Vec::new(),
        project,
        start,
        runs,
        setup: Vec::new(),
        setup_egress: EgressPolicy::Open,
        check_egress: EgressPolicy::Open,
        proxies: Proxies::default(),
        share: Vec::new(),
        budget: BudgetLimits::default(),
        in_place: false,
        disk_free_bytes_min: 0,
        wall: Wall::default(),
        // The machine's own sandbox is not part of the story, which is the same everywhere.
        says_walls: false,
        allowed: Vec::new(),
        blocked: Vec::new(),
        unlisted: Vec::new(),
        person: CommitAuthor { name: name.to_owned(), email: email.to_owned() },
        command_timeout: COMMAND_TIMEOUT,
        check_timeout: COMMAND_TIMEOUT,
        environment: passed_on.chain([hosting]).collect(),
        redactor: Arc::new(Redactor::new([])),
        secrets: Arc::new(SecretScanner::new([])),
        credentials: [].into(),
        results: ResultFiles::new(folder.join("results")),
        remote: Some(shop.remote_path().display().to_string()),
        pull_request: false,
        control: None,
        tasks: tasks.collect(),
        guard,
    })
}

fn chapter_task_settings(chapter: &DemoChapter, guard: &GuardCommand) -> TaskSettings {
    let script = expect_valid(AgentScript::parse(chapter.script, chapter.name));
    let allowed = chapter.allowed.iter().map(|&path| path.to_owned()).collect();
    let checks = |gate, commands: &[String]| {
        expect_valid(GateChecks::new(gate, commands, &[PROTECTED.to_owned()]))
    };
    TaskSettings {
        worker: TaskWorker::Agent(Arc::new(ScriptedAgent::new(script, guard.clone()))),
        egress: EgressPolicy::Open,
        service_host: None,
        model: None,
        price: None,
        limits: AttemptLimits {
            turns_max: None,
            money_micros_max: None,
            first_byte: COMMAND_TIMEOUT,
            idle: COMMAND_TIMEOUT,
            total: COMMAND_TIMEOUT,
        },
        scope: expect_valid(PathScope::new(&ScopeRules { allowed, ..ScopeRules::default() })),
        gates: TaskGates {
            pre_commit: checks(CheckStage::PreCommit, &[chapter.check.to_owned()]),
            pre_push: checks(CheckStage::PrePush, &[]),
            pre_pr: checks(CheckStage::PrePr, &[]),
            // The tests of unfinished tasks are red; making them green is the agents' work.
            baseline: BaselineMode::Green,
        },
        brief: String::new(),
    }
}

/// Unwraps a value that is part of the story and known to be valid.
fn expect_valid<T, E: fmt::Debug>(read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| unreachable!("the story can be read: {error:?}"))
}

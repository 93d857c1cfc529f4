//! Performs the night: a real build with scripted agents, at the pace of the virtual clock.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{TaskId, Work};
use unstuck_core::fault::Gate;
use unstuck_core::policy::{Amount, Budget};
use unstuck_core::time::Span;
use unstuck_runner::build::{BuildSettings, BuildWorld, Gates, TaskSettings, Worker};
use unstuck_runner::{Clock as _, Order, Report, Results, World};
use unstuck_world::agent::Limits;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::Person;
use unstuck_world::process::{Guard, Wall};
use unstuck_world::provider::Proxies;
use unstuck_world::provider::script::{Script, ScriptedAgent};
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{Rules, Scope};
use unstuck_world::validate::{BaselineMode, Checks, Secrets};
use unstuck_world::workspace::Project;

use super::clock::NightClock;
use super::shop::{PERSON, Shop};
use super::story::{self, CHAPTERS, Chapter};
use crate::error::Error;
use crate::project::own_guard;

/// The cost of an agent's second in the story, in millionths.
const MICROS_PER_SECOND: u64 = 1_200;
/// Timeout of a command. None of them takes a second.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);
/// Environment variables of agents, tests and the deployment.
const PASSED_ON: [&str; 2] = ["PATH", "HOME"];
/// Paths that an agent must not change to make a test green.
const PROTECTED: &str = "tests/**";

/// Delays each piece of work by its virtual time before it is performed.
pub(super) struct Paced {
    pub(super) build: BuildWorld,
    pub(super) clock: Arc<NightClock>,
}

#[async_trait]
impl World for Paced {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let work = order.effect.what;
        let attempt = order.attempt;
        let takes = story::takes(&order.task.name, work, attempt);
        let until = self.clock.now() + takes;
        let _still = tokio::select! {
            still = self.clock.stands_still_at(until) => still,
            () = stop.cancelled() => return None,
        };
        let report = self.build.perform(order, stop).await?;
        Some(Report { spent: cost(work, takes), ..report })
    }

    async fn clear(&self, tasks: &[TaskId]) {
        self.build.clear(tasks).await;
    }
}

const fn cost(work: Work, takes: Span) -> Amount {
    match work {
        Work::Attempt { .. } => {
            Amount { money_micros: takes.as_millis() / 1_000 * MICROS_PER_SECOND, ..Amount::ZERO }
        }
        _ => Amount::ZERO,
    }
}

/// Returns the build settings for the shop.
pub(super) async fn settings(folder: &Path, shop: &Shop) -> Result<BuildSettings, Error> {
    let guard = own_guard()?;
    let runs = folder.join("runs");
    fs::create_dir_all(&runs)
        .map_err(|source| Error::Folder { place: runs.display().to_string(), source })?;
    let project = Project::open("git", &shop.repository()).await?;
    let start = project.git().head().await?;
    let passed_on = PASSED_ON.iter().filter_map(|name| Some((name.into(), env::var_os(name)?)));
    let hosting: (OsString, OsString) = ("HOSTING".into(), shop.hosting().into());
    let tasks = CHAPTERS.iter().map(|chapter| (chapter.name.to_owned(), task(chapter, &guard)));
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
        budget: Budget::default(),
        in_place: false,
        disk_free_bytes_min: 0,
        wall: Wall::default(),
        // The machine's own sandbox is not part of the story, which is the same everywhere.
        says_walls: false,
        allowed: Vec::new(),
        unlisted: Vec::new(),
        person: Person { name: name.to_owned(), email: email.to_owned() },
        command_timeout: COMMAND_TIMEOUT,
        check_timeout: COMMAND_TIMEOUT,
        environment: passed_on.chain([hosting]).collect(),
        redactor: Arc::new(Redactor::new([])),
        secrets: Arc::new(Secrets::new([])),
        credentials: [].into(),
        results: Results::new(folder.join("results")),
        remote: Some(shop.remote().display().to_string()),
        pull_request: false,
        control: None,
        tasks: tasks.collect(),
        guard,
    })
}

fn task(chapter: &Chapter, guard: &Guard) -> TaskSettings {
    let script = written_here(Script::read(chapter.script, chapter.name));
    let allowed = chapter.allowed.iter().map(|&path| path.to_owned()).collect();
    let checks = |gate, commands: &[String]| {
        written_here(Checks::new(gate, commands, &[PROTECTED.to_owned()]))
    };
    TaskSettings {
        worker: Worker::Agent(Arc::new(ScriptedAgent::new(script, guard.clone()))),
        egress: EgressPolicy::Open,
        model: None,
        price: None,
        limits: Limits {
            turns_max: None,
            money_micros_max: None,
            first_byte: COMMAND_TIMEOUT,
            idle: COMMAND_TIMEOUT,
            total: COMMAND_TIMEOUT,
        },
        scope: written_here(Scope::new(&Rules { allowed, ..Rules::default() })),
        gates: Gates {
            pre_commit: checks(Gate::PreCommit, &[chapter.check.to_owned()]),
            pre_push: checks(Gate::PrePush, &[]),
            pre_pr: checks(Gate::PrePr, &[]),
            // The tests of unfinished tasks are red; making them green is the agents' work.
            baseline: BaselineMode::Green,
        },
        brief: String::new(),
    }
}

/// Unwraps a value that is part of the story and known to be valid.
fn written_here<T, E: fmt::Debug>(read: Result<T, E>) -> T {
    read.unwrap_or_else(|error| unreachable!("the story can be read: {error:?}"))
}

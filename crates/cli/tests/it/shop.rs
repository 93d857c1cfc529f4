//! A project in a folder, filled by real decisions, and the program at work in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command as Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    BuildId, Command, EffectKind, EffectOutcome, QuestionId, State, TaskId, TaskState,
};
use unstuck_core::fault::{Auth, Fault, GitOperation, Http, Validation};
use unstuck_core::plan::{MutationKind, MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::Amount;
use unstuck_core::time::{Span, Time};
use unstuck_runner::control::{ControlServer, TokenKey};
use unstuck_runner::{
    Clock, EffectRequest, EffectResult, PerformScope, Performer, Runner, RunnerHandle,
    RunnerResult, RunnerSetup, SystemClock, TaskLocks,
};
use unstuck_store::{Holder, SqliteStore, Store};
use unstuck_testkit::stage::{init_repository, make_job, make_runner_setup, make_tasks, run_git};
use unstuck_world::process::FileLock;

use crate::program::{Ran, command, ran};

/// The name of the project.
pub(crate) const SHOP: &str = "shop";
/// More builds than any night has.
const BUILDS: u32 = 4;

/// The questions of the night.
pub(crate) const HANDS: QuestionId = QuestionId(0);
pub(crate) const CHOICE: QuestionId = QuestionId(1);
pub(crate) const HAPPENED: QuestionId = QuestionId(2);

/// The task that waits for a key, the one that still runs, and the job.
pub(crate) const PREVIEW: TaskId = TaskId(2);
const TIDY: TaskId = TaskId(5);
pub(crate) const JOB: TaskId = TaskId(6);

/// A time that stands still until it is set.
pub(crate) struct StillClock(AtomicU64);

impl StillClock {
    pub(crate) fn set(&self, at: Time) {
        self.0.store(at.as_millis(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn wait_until(&self, at: Time) {
        if at > self.now() {
            std::future::pending::<()>().await;
        }
    }
}

/// A project and what it is remembered in.
pub(crate) struct Shop {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<StillClock>,
    root: PathBuf,
    _folder: TempDir,
}

impl Shop {
    /// A project in which nothing was run. It is twelve minutes ago.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(SHOP);
        std::fs::create_dir_all(root.join(".unstuck")).unwrap();
        let store = SqliteStore::open(root.join(".unstuck/state.db")).unwrap();
        let past = SystemClock.now() - Span::from_mins(12);
        Self {
            runtime: Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
            store: Arc::new(store),
            clock: Arc::new(StillClock(AtomicU64::new(past.as_millis()))),
            root,
            _folder: folder,
        }
    }

    /// A project after an eventful night: a task is done, one needed two ways, one waits for a key
    /// and one for a hint, of one it is unknown if it happened, one still runs and a job waits.
    pub(crate) fn after_a_night() -> (Self, Night) {
        let shop = Self::new();
        let night = shop.hold();
        shop.fill(&night);
        (shop, night)
    }

    /// The same, and the process at work let go of it.
    pub(crate) fn left_alone() -> Self {
        let (shop, night) = Self::after_a_night();
        shop.let_go(night);
        shop
    }

    fn fill(&self, night: &Night) {
        let start = Command::StartBuild { plan: plan(), slots: 1, in_place: false };
        self.send(night, start);
        self.until(night, |state| {
            let last = state.task(TIDY).map(|task| &task.state);
            let runs = matches!(last, Some(TaskState::Running { .. }));
            runs && state.question(HAPPENED).is_some()
        });
        self.send(night, Command::DefineJob { spec: Arc::new(job()) });
        // Half a minute ahead, so that the wait is told in whole minutes.
        self.clock.set(SystemClock.now() + Span::from_secs(30));
        self.send(night, Command::FireJob { task: JOB });
        self.until(night, |state| {
            let job = state.task(JOB);
            job.is_some_and(|job| matches!(job.state, TaskState::BackingOff { .. }))
        });
        // What was looked at may be ahead of the disk; a reply comes after all that is before it.
        self.send(night, Command::Wake);
    }

    /// Takes the project up, performs its work, and listens.
    pub(crate) fn hold(&self) -> Night {
        self.hold_with(Arc::new(Scripted::default()))
    }

    pub(crate) fn hold_with(&self, world: Arc<dyn Performer>) -> Night {
        self.runtime.block_on(async {
            let holder = Holder { pid: 4_242, verb: "run".to_owned(), since: self.clock.now() };
            let setup = RunnerSetup {
                holder: holder.clone(),
                clock: Arc::clone(&self.clock) as _,
                ..make_runner_setup(Arc::clone(&self.store), SHOP)
            };
            let runner = Runner::open(setup).await.unwrap();
            let handle = runner.handle();
            let running = tokio::spawn(runner.run());
            let folder = self.root.join(".unstuck");
            let key = TokenKey::open(&folder.join("token-key")).unwrap();
            let socket = folder.join("control.sock");
            let server = ControlServer::start(&socket, handle.clone(), key, holder).unwrap();
            handle.attach_performer(PerformScope::Project, world).await.unwrap();
            let runs = folder.join("runs");
            std::fs::create_dir_all(&runs).unwrap();
            let turns = TaskLocks::new(runs);
            let turns = (0..BUILDS).filter_map(|id| turns.try_lock_build(BuildId(id)).unwrap());
            Night { handle, server, running, _turns: turns.collect() }
        })
    }

    /// Lets go of the project properly.
    pub(crate) fn let_go(&self, night: Night) {
        let Night { handle, server, running, _turns } = night;
        self.runtime.block_on(async {
            drop(server);
            handle.shut_down(false).await;
            running.await.unwrap().unwrap();
        });
    }

    pub(crate) fn send(&self, night: &Night, command: Command) {
        self.runtime.block_on(night.handle.submit_command(command)).unwrap();
    }

    /// Waits until the state is as wanted; it moves only when something is told.
    pub(crate) fn until(
        &self,
        night: &Night,
        wanted: impl Fn(&State) -> bool + Clone + Send + 'static,
    ) {
        self.runtime.block_on(async {
            let mut notices = night.handle.subscribe_notices();
            while !night.handle.read_state(wanted.clone()).await.unwrap() {
                notices.recv().await.ok();
            }
        });
    }

    /// A build of plain tasks that is carried out to its end.
    pub(crate) fn finish_build(&self, names: &[&str]) {
        let night = self.hold();
        let plan = Arc::new(Plan::new(make_tasks(names.iter().copied())).unwrap());
        let slots = u32::try_from(names.len()).unwrap();
        self.send(&night, Command::StartBuild { plan, slots, in_place: false });
        self.until(&night, |state| state.build(BuildId(0)).unwrap().state.has_ended());
        self.send(&night, Command::Wake);
        self.let_go(night);
    }

    /// Makes the project a repository. What Unstuck keeps is no part of it.
    pub(crate) fn init_repository(&self) {
        init_repository(&self.root);
        std::fs::write(self.root.join(".unstuck/.gitignore"), "*\n").unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        run_git(&self.root, args)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The program, about this project.
    pub(crate) fn command(&self, args: &[&str]) -> Child {
        let mut child = command(args);
        child.arg("-C").arg(&self.root).env("USER", "ada").env("TZ", "UTC");
        child
    }

    pub(crate) fn unstuck(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// The JSON that the program writes, without the times.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.unstuck(args);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        let mut value = serde_json::from_str(&ran.stdout).unwrap();
        without_times(&mut value);
        value
    }

    /// The position of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        let all = unstuck_store::EventPage { after: 0, limit: u32::MAX };
        let events = self.runtime.block_on(self.store.load_events(SHOP, all)).unwrap();
        events.last().map_or(0, |recorded| recorded.seq)
    }
}

/// A process at work.
pub(crate) struct Night {
    pub(crate) handle: RunnerHandle,
    server: ControlServer,
    running: JoinHandle<RunnerResult>,
    /// At the builds that are performed.
    _turns: Vec<FileLock>,
}

fn plan() -> Arc<Plan> {
    let push = MutationSpec {
        key: "push".to_owned(),
        kind: MutationKind::Push,
        probe: true,
        ..MutationSpec::default()
    };
    let tasks = vec![
        task("notes", "Release notes", vec![]),
        task("webhook", "Payment webhook", vec![]),
        task("preview", "Deploy the preview", vec![]),
        task("search", "Better search", vec![]),
        task("importer", "Faster importer", vec![Arc::new(push)]),
        task("tidy", "Tidy the settings page", vec![]),
    ];
    Arc::new(Plan::new(tasks).unwrap())
}

fn task(name: &str, title: &str, mutations: Vec<Arc<MutationSpec>>) -> TaskSpec {
    let (name, title) = (name.to_owned(), title.to_owned());
    TaskSpec { name, title, mutations, ..TaskSpec::default() }
}

fn job() -> TaskSpec {
    TaskSpec { title: "Nightly backup".to_owned(), ..make_job("backup") }
}

/// A world in which the same things go wrong each time.
#[derive(Default)]
struct Scripted(Mutex<BTreeMap<(String, String), u32>>);

#[async_trait]
impl Performer for Scripted {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let what = serde_json::to_value(order.effect.what).unwrap()["do"].to_string();
        let nth = {
            let mut times = self.0.lock().unwrap();
            let nth = times.entry((order.task.name.clone(), what)).or_default();
            *nth += 1;
            *nth
        };
        if order.task.name == "tidy" {
            stop.cancelled().await;
            return None;
        }
        let outcome = outcome(&order, nth);
        let spent = match outcome {
            EffectOutcome::Attempted { .. } => {
                Amount { money_micros: 400_000, tokens: 1_200, ..Amount::ZERO }
            }
            _ => Amount::ZERO,
        };
        Some(EffectResult::new(outcome, spent))
    }

    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

fn outcome(order: &EffectRequest, nth: u32) -> EffectOutcome {
    match (order.task.name.as_str(), order.effect.what) {
        ("preview", EffectKind::Attempt { .. }) => {
            let context = Auth { account: "hosting".to_owned(), ..Auth::default() };
            failed(Fault::auth_invalid("deploy", "403: the token was revoked", context))
        }
        ("webhook", EffectKind::Check) if nth == 1 => red("webhook::rejects_a_bad_signature"),
        ("search", EffectKind::Check) => red("search::finds_umlauts"),
        ("importer", EffectKind::Perform { .. }) => {
            let operation = "push".to_owned();
            let context = GitOperation { operation, ..GitOperation::default() };
            let fault = Fault::git_push_failed("git.push", "the connection was lost", context);
            EffectOutcome::Unknown { fault: Arc::new(fault) }
        }
        ("importer", EffectKind::Probe { .. }) => EffectOutcome::CannotTell { said: None },
        ("backup", EffectKind::Execute { .. }) => {
            let fault = Fault::network_unavailable("backup", "503", Http::default());
            failed(fault.with_retry_after(Span::from_mins(30)))
        }
        (name, EffectKind::Attempt { .. }) => {
            let summary = "made the change and ran the tests".to_owned();
            let digest = Some(Digest(u64::from(nth) + name.len() as u64 * 100));
            let approach = Approach {
                digest,
                summary,
                files_changed: nth,
                commands: 3,
                ..Approach::default()
            };
            EffectOutcome::Attempted { approach: Arc::new(approach) }
        }
        _ => EffectOutcome::Done,
    }
}

fn red(test: &str) -> EffectOutcome {
    let output = format!("test {test} ... FAILED");
    let command = "cargo test".to_owned();
    let context = Validation { command, exit: Some(101), output: output.clone() };
    failed(Fault::validation_pre_commit("validate:pre_commit#1", output, context))
}

fn failed(fault: Fault) -> EffectOutcome {
    EffectOutcome::Failed { fault: Arc::new(fault), approach: None }
}

/// The times in a value are those of the day the test runs on.
pub(crate) fn without_times(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_times),
        Value::Object(fields) => fields.values_mut().for_each(without_times),
        Value::Number(number) if number.as_u64().is_some_and(|n| n > 1_000_000_000_000) => {
            *value = Value::from("(time)");
        }
        _ => {}
    }
}

/// A text with each time of day, the date before it and how far off it is made the same.
pub(crate) fn without_clock(text: &str) -> String {
    let digits = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b':');
    let is_clock = |word: &str| word.len() >= 5 && word.contains(':') && digits(word);
    let line = |line: &str| {
        let (stamp, rest) = line.split_at_checked(15).unwrap_or(("", line));
        let stamped = stamp.rsplit(' ').next().is_some_and(is_clock);
        let line = if stamped { format!("(time){rest}") } else { line.to_owned() };
        let words = line.split(' ').map(|word| if is_clock(word) { "(clock)" } else { word });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    let text: String = text.lines().map(line).collect();
    let mut parts = text.split("(clock) (in ");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |said, part| {
        let (_, rest) = part.split_once(')').unwrap();
        format!("{said}(clock) (in a while){rest}")
    });
    let mut parts = text.split(" again in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| {
        let (_, rest) = part.split_once(':').unwrap();
        format!("{said} again in a while:{rest}")
    })
}

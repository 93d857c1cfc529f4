//! The server that is loaded.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    Command, Effect, EffectId, EffectOutcome, Event, RecordedEvent, RunNote, State,
};
use unstuck_core::fault::{Auth, Fault};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_runner::{Clock as _, Runner, RunnerHandle, RunnerSetup, SystemClock};
use unstuck_server::auth::{
    AccessTokenStore, AllowedHosts, Authenticator, NewToken, ServerSigningKey,
};
use unstuck_server::{
    AccessRole, ProjectRegistration, ProjectVisibility, ServerState, build_app, serve_http,
};
use unstuck_store::{Holder, SqliteStore, Store};

use crate::desk::LoopDesk;

const PROJECT: &str = "shop";
/// Questions that are left open.
const OPEN: u64 = 200;

/// A server of one project.
pub(crate) struct House {
    folder: TempDir,
    store: Arc<dyn Store>,
    handle: RunnerHandle,
    address: String,
    token: String,
}

impl House {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(folder.path().join("state.db")).unwrap());
        let setup = RunnerSetup {
            store: Arc::clone(&store),
            project: PROJECT.into(),
            holder: Holder { pid: 1, verb: "bench".into(), since: SystemClock.now() },
            policy: Arc::new(Policy::default()),
            clock: Arc::new(SystemClock),
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await.unwrap();
        let handle = runner.handle();
        tokio::spawn(runner.run());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let hosted = ProjectRegistration {
            name: PROJECT.into(),
            store: Arc::clone(&store),
            host: Arc::new(LoopDesk(handle.clone())),
            audience: unstuck_server::QuestionAudience::Developer,
        };
        let site = ServerState::open([hosted], Arc::new(SystemClock), stop.clone()).await.unwrap();
        let tokens = AccessTokenStore::in_folder(folder.path().join("server"));
        tokens.ensure_first_token("bench", SystemClock.now()).unwrap();
        let wish = NewToken {
            name: "bench".into(),
            role: AccessRole::Operator,
            reach: ProjectVisibility::All,
            expires_at: None,
        };
        let (_, token) = tokens.create_token(wish, SystemClock.now()).unwrap();
        let key = ServerSigningKey::open(&folder.path().join("server")).unwrap();
        let names = AllowedHosts::new(address, []).unwrap();
        let door = Authenticator::new(tokens, key, names, Arc::new(SystemClock));
        tokio::spawn(serve_http(listener, build_app(site, &Arc::new(door)), stop));
        let token = token.as_str().to_owned();
        Self { folder, store, handle, address: address.to_string(), token }
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn token(&self) -> String {
        self.token.clone()
    }

    async fn command(&self, command: Command) -> Vec<Arc<RecordedEvent>> {
        self.handle.submit_command(command).await.unwrap().events.to_vec()
    }

    /// A build whose tasks are all at work.
    pub(crate) async fn build(&self, tasks: u64) {
        let spec = |at| TaskSpec {
            name: format!("task-{at}"),
            title: format!("Task {at}"),
            ..TaskSpec::default()
        };
        let plan = Arc::new(Plan::new((0..tasks).map(spec).collect()).unwrap());
        let slots = tasks.try_into().unwrap();
        self.command(Command::StartBuild { plan, slots, in_place: false }).await;
    }

    async fn owed(&self) -> EffectId {
        let owed: Vec<Effect> = self.handle.read_state(State::outstanding_effects).await.unwrap();
        owed[0].id
    }

    /// One event more.
    pub(crate) async fn note(&self) {
        let effect = self.owed().await;
        let note = RunNote::Narrated { text: "Looking at the next file.".into() };
        self.command(Command::Note { effect, note }).await;
    }

    /// Questions of people whose keys were refused, all of them answered but the last.
    pub(crate) async fn asked(&self, count: u64) {
        for number in 0..count {
            self.build(1).await;
            let fault = Fault::auth_invalid(
                // Each of them a problem of its own.
                format!("deploy-{number}"),
                "403 refused",
                Auth::default(),
            );
            let outcome = EffectOutcome::Failed { fault: Arc::new(fault), approach: None };
            let effect = self.owed().await;
            let events =
                self.command(Command::Settle { effect, outcome, spent: Amount::ZERO }).await;
            let question = events.iter().find_map(|recorded| match &recorded.event {
                Event::QuestionAsked { question } => Some(question.id),
                _ => None,
            });
            let answer = unstuck_store::Answer {
                question: question.unwrap(),
                decision: Decision::SkipFeature,
                guidance: None,
                by: "bench".into(),
                at: SystemClock.now(),
            };
            if number + OPEN < count {
                self.store.record_answer(PROJECT, answer).await.unwrap();
                self.handle.take_answers().await.unwrap();
            }
        }
    }

    /// Milliseconds until a small write is on disk, at its 99th percentile.
    pub(crate) fn durable_write(&self) -> f64 {
        let mut file = File::create(self.folder.path().join("durable")).unwrap();
        let mut took: Vec<f64> = (0..300)
            .map(|_| {
                let start = Instant::now();
                file.write_all(&[7; 4096]).unwrap();
                file.sync_data().unwrap();
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        took.sort_by(f64::total_cmp);
        took[took.len() * 99 / 100]
    }
}

/// Comes back when so many read.
pub(crate) async fn readers(count: u64) {
    let open = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let is_socket = |path: std::path::PathBuf| {
            fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        };
        all.filter(|entry| is_socket(entry.path())).count() as u64
    };
    while open() < count {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
}

pub(crate) fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Seconds of processor time so far.
pub(crate) fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

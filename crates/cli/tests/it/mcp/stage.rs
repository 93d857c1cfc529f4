//! A real build on a real repository, whose agent speaks to the real server of tools.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Child;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Event, RecordedEvent, State};
use unstuck_core::fault::CheckStage;
use unstuck_core::plan::{Call, CommandCall, MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{BudgetLimits, Policy};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;
use unstuck_runner::build::{
    AgentControl, BuildPerformer, BuildSettings, TaskGates, TaskSettings, TaskWorker,
};
use unstuck_runner::control::{ControlServer, TokenKey};
use unstuck_runner::{
    PerformScope, ResultFiles, Runner, RunnerHandle, RunnerResult, RunnerSetup, SystemClock,
};
use unstuck_store::{EventPage, Holder, MemoryStore, Store as _};
use unstuck_world::agent::{Agent, AttemptLimits};
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::{CommitAuthor, Oid};
use unstuck_world::process::{GuardCommand, Wall, guard};
use unstuck_world::provider::script::{AgentScript, ScriptedAgent};
use unstuck_world::provider::{Credential, Proxies};
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{PathScope as Fence, ScopeRules};
use unstuck_world::tool::{ActionRule, DeclarationPolicy};
use unstuck_world::validate::{BaselineMode, GateChecks, SecretScanner};
use unstuck_world::workspace::ProjectRepository;

use super::client::lines;

const NAME: &str = "shop";
/// What an action may use that names its variable.
pub(super) const SECRET: &str = "secret-of-the-shop-4711";

pub(super) struct Stage {
    folder: TempDir,
    pub(super) handle: RunnerHandle,
    store: MemoryStore,
    _server: ControlServer,
    _running: JoinHandle<RunnerResult>,
}

impl Stage {
    /// Starts a build with one task, whose agent runs these lines of shell once it is let go.
    pub(super) async fn start(lines: &[&str]) -> Self {
        let lines = ["read line < $HERE/ready"].iter().chain(lines);
        let steps: Vec<String> = lines.map(|line| format!("{{ run = {line:?} }}")).collect();
        let script = format!("[[attempt]]\nsteps = [{}]", steps.join(", "));
        let script = AgentScript::parse(&script, "script").unwrap();
        // Its fence lets it write here, beside its worktree.
        let folder = tempfile::tempdir().unwrap();
        Self::begin(folder, Arc::new(ScriptedAgent::new(script, own_guard()))).await
    }

    /// The same with this agent, which is told the folder that is its own. Codex does without some of
    /// its tools below a temporary directory, so it is not in one.
    pub(super) async fn start_with(agent: impl FnOnce(&Path) -> Arc<dyn Agent>) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let agent = agent(&folder.path().join("home"));
        Self::begin(folder, agent).await
    }

    async fn begin(folder: TempDir, agent: Arc<dyn Agent>) -> Self {
        let root = folder.path().join("repo");
        let start = repository(&root);
        for fifo in ["ready", "never"] {
            let made = Child::new("mkfifo").arg(folder.path().join(fifo)).status().unwrap();
            assert!(made.success());
        }
        let store = MemoryStore::new();
        let holder = Holder { pid: 1, verb: "test".into(), since: Time::from_millis(0) };
        let setup = RunnerSetup {
            store: Arc::new(store.clone()),
            project: NAME.into(),
            holder: holder.clone(),
            policy: Arc::new(Policy::default()),
            clock: Arc::new(SystemClock),
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await.unwrap();
        let handle = runner.handle();
        let running = tokio::spawn(runner.run());
        let key = TokenKey::open(&folder.path().join("token-key")).unwrap();
        let socket = folder.path().join("control.sock");
        let redactor = Arc::new(Redactor::new([SECRET]));
        let server =
            ControlServer::start_redacting(&socket, handle.clone(), key.clone(), holder, redactor)
                .unwrap();
        let control = AgentControl { socket, key, declarable: declarable() };
        let stage = Self { folder, handle, store, _server: server, _running: running };
        let settings = stage.settings(&root, start, control, agent).await;
        let (handle, store) = (stage.handle.clone(), Arc::new(stage.store.clone()));
        let world =
            BuildPerformer::new(settings, Arc::new(handle), store, NAME, Arc::new(SystemClock));
        stage.handle.attach_performer(PerformScope::Project, Arc::new(world)).await.unwrap();
        let task = TaskSpec { name: "a".into(), title: "Paint it".into(), ..TaskSpec::default() };
        let plan = Arc::new(Plan::new(vec![task]).unwrap());
        let start = Command::StartBuild { plan, slots: 1, in_place: false };
        stage.handle.submit_command(start).await.unwrap();
        stage
    }

    /// What the agent's server of tools is told, and then the agent is let go.
    pub(super) async fn let_go(&self, calls: &[(&str, Value)]) {
        fs::write(self.path("in"), lines(calls)).unwrap();
        let ready = self.path("ready");
        tokio::task::spawn_blocking(move || fs::write(ready, "go\n").unwrap()).await.unwrap();
    }

    /// A file beside the repository.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn wrote(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    async fn settings(
        &self,
        root: &Path,
        start: Oid,
        control: AgentControl,
        agent: Arc<dyn Agent>,
    ) -> BuildSettings {
        let (runs, results) = (self.path("runs"), self.path("results"));
        fs::create_dir_all(&runs).unwrap();
        let bin = Path::new(env!("CARGO_BIN_EXE_unstuck")).parent().unwrap().display();
        let path = format!("{bin}:/usr/local/bin:/usr/bin:/bin");
        let environment = [("PATH", path.into()), ("HERE", self.folder.path().as_os_str().into())];
        BuildSettings {
            project: ProjectRepository::open(Path::new("git"), root).await.unwrap(),
            start,
            guard: own_guard(),
            budget: BudgetLimits::default(),
            runs,
            setup: Vec::new(),
            setup_egress: EgressPolicy::Open,
            check_egress: EgressPolicy::Open,
            proxies: Proxies::default(),
            share: Vec::new(),
            in_place: false,
            disk_free_bytes_min: 0,
            wall: Wall { writable: Some(vec![self.folder.path().to_owned()]), ..Wall::default() },
            says_walls: false,
            allowed: Vec::new(),
            unlisted: Vec::new(),
            person: CommitAuthor { name: "Ada".into(), email: "ada@example.org".into() },
            command_timeout: Duration::from_mins(1),
            check_timeout: Duration::from_mins(1),
            environment: environment
                .map(|(name, value): (_, OsString)| (name.into(), value))
                .into(),
            withheld: Vec::new(),
            redactor: Arc::new(Redactor::new([SECRET])),
            secrets: Arc::new(SecretScanner::new([SECRET])),
            credentials: [
                ("TOKEN".to_owned(), Credential::new(SECRET).unwrap()),
                ("OTHER".to_owned(), Credential::new(SECRET).unwrap()),
            ]
            .into(),
            results: ResultFiles::new(results),
            remote: None,
            pull_request: false,
            control: Some(control),
            tasks: [("a".to_owned(), task(agent))].into(),
        }
    }

    pub(super) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> T {
        self.handle.read_state(look).await.unwrap()
    }

    pub(super) async fn until(&self, wanted: impl Fn(&State) -> bool + Clone + Send + 'static) {
        let mut notices = self.handle.subscribe_notices();
        while !self.look(wanted.clone()).await {
            notices.recv().await.ok();
        }
    }

    /// Waits until a person is asked or the build has ended.
    pub(super) async fn rests(&self) {
        let over = |state: &State| state.builds().all(|build| build.state.has_ended());
        self.until(move |state| over(state) || state.questions().next().is_some()).await;
    }

    pub(super) async fn answer(&self, decision: Decision, guidance: &str) {
        let question = self.look(|state| state.questions().next().unwrap().id).await;
        let guidance = Some(guidance.into());
        let answer = Command::Answer { question, decision, guidance, by: "ada".into() };
        self.handle.submit_command(answer).await.unwrap();
    }

    pub(super) async fn events(&self) -> Vec<RecordedEvent> {
        self.store.load_events(NAME, EventPage { after: 0, limit: 10_000 }).await.unwrap()
    }

    pub(super) async fn narrated(&self) -> Vec<String> {
        let told = |recorded: RecordedEvent| match recorded.event {
            Event::Narrated { text, .. } => Some(text.to_string()),
            _ => None,
        };
        self.events().await.into_iter().filter_map(told).collect()
    }
}

pub(super) fn own_guard() -> GuardCommand {
    let executable = env!("CARGO_BIN_EXE_unstuck").into();
    GuardCommand { executable, arguments: vec![guard::ARGUMENT.into()] }
}

fn task(agent: Arc<dyn Agent>) -> TaskSettings {
    let checks = |gate| GateChecks::new(gate, &[] as &[String], &[]).unwrap();
    let plenty = Duration::from_mins(1);
    TaskSettings {
        worker: TaskWorker::Agent(agent),
        egress: EgressPolicy::Open,
        model: None,
        price: None,
        limits: AttemptLimits {
            turns_max: None,
            money_micros_max: None,
            first_byte: plenty,
            idle: plenty,
            total: plenty,
        },
        scope: Fence::new(&ScopeRules::default()).unwrap(),
        gates: TaskGates {
            pre_commit: checks(CheckStage::PreCommit),
            pre_push: checks(CheckStage::PrePush),
            pre_pr: checks(CheckStage::PrePr),
            baseline: BaselineMode::default(),
        },
        brief: String::new(),
    }
}

fn repository(root: &Path) -> Oid {
    fs::create_dir(root).unwrap();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let ran = Child::new("git").arg("-C").arg(root).args(who).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(root.join("README.md"), "shop\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Begin"]);
    Oid::parse(git(&["rev-parse", "HEAD"]).as_bytes()).unwrap()
}

/// An action as something that speaks to the socket by itself could put it together.
pub(super) fn forged() -> MutationSpec {
    let call = CommandCall {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), "printf %s \"$OTHER\" > $HERE/stolen".to_owned()],
        variables: vec!["OTHER".to_owned()],
        ..CommandCall::default()
    };
    MutationSpec::from_call("forged", Call::Command(call))
}

/// What an agent's actions may use here, and which of them need no leave.
fn declarable() -> DeclarationPolicy {
    let secrets = BTreeSet::from(["TOKEN".to_owned()]);
    let lines = ["printf %s ${#TOKEN}", "sh -c 'echo out'"];
    let rule = |line: &str| ActionRule {
        command: Some(line.to_owned()),
        hosts: Vec::new(),
        secrets: secrets.clone(),
    };
    DeclarationPolicy { allowed: lines.map(rule).into(), pull_request: None, secrets }
}

//! A job whose script is broken, in a real repository, with an agent that does as it is written.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    BuildId, Command, Effect, EffectKind, Event, Question, RunId, State, TaskId, TaskState,
};
use unstuck_core::fault::{CheckStage, Code, Fault, Logic};
use unstuck_core::plan::{JobSpec, TaskSpec};
use unstuck_core::policy::{BudgetLimits, Overrides, Policy};
use unstuck_core::time::{Span, Time};
use unstuck_runner::build::{BuildSettings, TaskGates, TaskSettings, TaskWorker};
use unstuck_runner::control::TokenKey;
use unstuck_runner::repair::{RepairSettings, ScriptRepairer};
use unstuck_runner::{
    EffectRequest, EffectResult, PerformScope, Performer as _, ResultFiles, Runner, RunnerHandle,
    RunnerResult, RunnerSetup, ScriptCommand, ScriptPerformer, SystemClock,
};
use unstuck_store::{EventPage, Holder, MemoryStore, Store as _};
use unstuck_world::agent::AttemptLimits;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::git::{CommitAuthor, Oid};
use unstuck_world::process::{GuardCommand, OwnInput, Wall};
use unstuck_world::provider::Proxies;
use unstuck_world::provider::script::{self, ScriptedAgent};
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{self, ScopeRules};
use unstuck_world::validate::{BaselineMode, GateChecks, SecretScanner};
use unstuck_world::workspace::ProjectRepository;

use crate::repair::repo::Repo;

const PROJECT: &str = "shop";
pub(crate) const JOB: &str = "nightly";
/// A value that must not be committed.
pub(crate) const CANARY: &str = "canary-4711-in-the-mine";

/// The special settings of a job.
pub(crate) struct Job {
    /// The script at the beginning.
    pub(crate) script: &'static str,
    /// Steps of the agent, repair by repair.
    pub(crate) repairs: Vec<String>,
    /// Paths that may be changed.
    pub(crate) scope: Vec<&'static str>,
    /// Commands that have to pass.
    pub(crate) proof: Vec<&'static str>,
    /// Paths that are put back before that.
    pub(crate) protect: Vec<&'static str>,
}

pub(crate) struct Stage {
    pub(crate) repo: Repo,
    pub(crate) handle: RunnerHandle,
    store: MemoryStore,
    _running: JoinHandle<RunnerResult>,
    job: Job,
}

impl Stage {
    /// A repository with the script and a check, and a loop that knows the job.
    pub(crate) async fn new(job: Job) -> Self {
        let repo = Repo::with(&[
            ("run.sh", job.script),
            ("check.sh", "grep -q good run.sh\n"),
            ("other.txt", "mine\n"),
        ]);
        std::fs::create_dir_all(repo.beside("runs")).unwrap();
        let store = MemoryStore::new();
        let mut policy = Policy::default();
        policy.backoff.base_ms = Span::from_millis(10);
        policy.backoff.cap_ms = Span::from_millis(20);
        let setup = RunnerSetup {
            store: Arc::new(store.clone()),
            project: PROJECT.into(),
            holder: Holder { pid: 1, verb: "test".into(), since: Time::from_millis(0) },
            policy: Arc::new(policy),
            clock: Arc::new(SystemClock),
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await.unwrap();
        let handle = runner.handle();
        let running = tokio::spawn(runner.run());
        Self { repo, handle, store, _running: running, job }
    }

    /// A world that runs the script and lets it be repaired.
    pub(crate) async fn world(&self) -> ScriptPerformer {
        let world = ScriptPerformer::new(self.script(), None);
        let settings = RepairSettings { work: self.work().await, command: "sh run.sh".to_owned() };
        let (decider, store) = (Arc::new(self.handle.clone()), Arc::new(self.store.clone()));
        world.repair_with(ScriptRepairer::new(
            settings,
            decider,
            store,
            PROJECT,
            Arc::new(SystemClock),
        ));
        world
    }

    /// Fires the job.
    pub(crate) async fn fire(&self) {
        let spec = TaskSpec {
            name: JOB.to_owned(),
            title: JOB.to_owned(),
            goal: "Says that all is good.".to_owned(),
            job: Some(JobSpec::default()),
            overrides: Overrides { repairs: Some(3), ..Overrides::default() },
            ..TaskSpec::default()
        };
        self.handle.submit_command(Command::DefineJob { spec: Arc::new(spec) }).await.unwrap();
        let task = self.handle.read_state(|state| state.job(JOB).unwrap().id).await.unwrap();
        let world = Arc::new(self.world().await);
        self.handle.attach_performer(PerformScope::Task(task), world).await.unwrap();
        self.handle.submit_command(Command::FireJob { task }).await.unwrap();
    }

    /// Waits until the job is over or asks.
    pub(crate) async fn over(&self) -> Result<(), Question> {
        let mut notices = self.handle.subscribe_notices();
        let seen = |state: &State| {
            let asked = state.questions().next().cloned();
            let done = matches!(state.job(JOB).unwrap().state, TaskState::Done);
            asked.map(Err).or_else(|| done.then_some(Ok(())))
        };
        loop {
            if let Some(over) = self.handle.read_state(seen).await.unwrap() {
                return over;
            }
            notices.recv().await.ok();
        }
    }

    /// Performs a repair as if it were ordered by itself.
    pub(crate) async fn perform(&self, world: &ScriptPerformer, run: u64) -> EffectResult {
        let order = EffectRequest {
            project: PROJECT.into(),
            effect: Effect {
                id: unstuck_core::engine::EffectId(run),
                task: TaskId(7),
                run: RunId(run),
                what: EffectKind::Repair { propose: false },
            },
            build: BuildId(0),
            task: Arc::new(TaskSpec { name: JOB.to_owned(), ..TaskSpec::default() }),
            firing: 1,
            attempt: 1,
            mutation: None,
            context: None,
            nudged: false,
            cut_off: None,
            guidance: None,
            mended: None,
            broke: Some(Arc::new(Fault::logic_error("exec", "not good", Logic::default()))),
        };
        world.perform_effect(order, CancellationToken::new()).await.unwrap()
    }

    /// The codes of the faults that were met.
    pub(crate) async fn faults(&self) -> Vec<Code> {
        let page = EventPage { after: 0, limit: 10_000 };
        let events = self.store.load_events(PROJECT, page).await.unwrap();
        let met = |event: Event| match event {
            Event::FaultMet { fault, .. } => Some(fault.code()),
            _ => None,
        };
        events.into_iter().filter_map(|recorded| met(recorded.event)).collect()
    }

    fn script(&self) -> ScriptCommand {
        let key = TokenKey::open(&self.repo.beside("key")).unwrap();
        ScriptCommand {
            guard: guard(),
            runs: self.repo.beside("runs"),
            program: "sh".into(),
            arguments: vec!["run.sh".into()],
            directory: self.repo.root.clone(),
            input: OwnInput::default(),
            timeout: None,
            socket: PathBuf::from("nowhere"),
            key,
            results: ResultFiles::new(self.repo.beside("results")),
            redactor: Arc::new(Redactor::new([CANARY])),
        }
    }

    async fn work(&self) -> BuildSettings {
        let path = std::env::var_os("PATH").unwrap();
        BuildSettings {
            project: ProjectRepository::open(&self.repo.program, &self.repo.root).await.unwrap(),
            start: Oid::parse(self.repo.git(["rev-parse", "HEAD"]).as_bytes()).unwrap(),
            guard: guard(),
            runs: self.repo.beside("runs"),
            setup: Vec::new(),
            setup_egress: EgressPolicy::Open,
            check_egress: EgressPolicy::Open,
            proxies: Proxies::default(),
            share: Vec::new(),
            in_place: false,
            budget: BudgetLimits::default(),
            disk_free_bytes_min: 0,
            // Agents and checks leave marks beside the repository.
            wall: Wall { writable: Some(vec![self.repo.beside(".")]), ..Wall::default() },
            says_walls: false,
            allowed: Vec::new(),
            unlisted: Vec::new(),
            person: CommitAuthor { name: "Ada".to_owned(), email: "ada@example.org".to_owned() },
            command_timeout: Duration::from_mins(1),
            check_timeout: Duration::from_mins(1),
            withheld: Vec::new(),
            environment: vec![("PATH".into(), path), ("UNSTUCK_DRY_RUN".into(), "1".into())],
            redactor: Arc::new(Redactor::new([CANARY])),
            secrets: Arc::new(SecretScanner::new([CANARY])),
            credentials: [].into(),
            results: ResultFiles::new(self.repo.beside("results")),
            remote: None,
            pull_request: false,
            control: None,
            tasks: [(JOB.to_owned(), self.task())].into(),
        }
    }

    fn task(&self) -> TaskSettings {
        let steps = self.job.repairs.iter();
        let steps: Vec<String> = steps.map(|s| format!("[[attempt]]\nsteps = [{s}]\n")).collect();
        let script = script::AgentScript::parse(&steps.concat(), "script").unwrap();
        let agent = ScriptedAgent::new(script, guard());
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let rules = ScopeRules { allowed: list(&self.job.scope), ..ScopeRules::default() };
        let checks = |gate, commands: &[&str]| {
            GateChecks::new(gate, &list(commands), &list(&self.job.protect))
                .unwrap()
                .with_firm_protection()
        };
        TaskSettings {
            worker: TaskWorker::Agent(Arc::new(agent)),
            egress: EgressPolicy::Open,
            model: None,
            price: None,
            limits: AttemptLimits {
                turns_max: None,
                money_micros_max: None,
                first_byte: Duration::from_mins(1),
                idle: Duration::from_mins(1),
                total: Duration::from_mins(1),
            },
            scope: scope::PathScope::new(&rules).unwrap(),
            gates: TaskGates {
                pre_commit: checks(CheckStage::PreCommit, &self.job.proof),
                pre_push: checks(CheckStage::PrePush, &[]),
                pre_pr: checks(CheckStage::PrePr, &[]),
                baseline: BaselineMode::default(),
            },
            brief: String::new(),
        }
    }
}

fn guard() -> GuardCommand {
    GuardCommand {
        executable: env!("CARGO_BIN_EXE_runner-test-guard").into(),
        arguments: Vec::new(),
    }
}

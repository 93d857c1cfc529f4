//! A repository, a project, a service that thinks, and the performer of attempts with them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::broadcast::{self, error::TryRecvError};
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{Approach, DiffChange};
use unstuck_core::engine::{BuildState, EffectKind, EffectOutcome, Event, QuestionId, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::plan::{GateKey, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_core::question::Decision;
use unstuck_core::time::Time;
use unstuck_runner::agent::{AgentLoop, AgentLoopEnd, AgentLoopInput, ModelCallLimits};
use unstuck_runner::{
    Clock, EffectRequest, EffectResult, PerformScope, Performer, RunnerHandle, RunnerNotice,
    RunnerSetup,
};
use unstuck_store::{Answer, MemoryStore, Store as _};
use unstuck_testkit::stage::{
    RunningProject, TestRepo, make_model_settings, make_runner_setup, succeed_effect,
};
use unstuck_world::commands::{
    CommandEnvironment, CommandPolicy, CommandRules, CommandShims, NetworkIsolation,
};
use unstuck_world::fake::server::{FakeScript, FakeServer};
use unstuck_world::model::Model;
use unstuck_world::process::Wall;
use unstuck_world::provider::anthropic_api::AnthropicApi;
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{PathScope as Fence, ScopeRules};
use unstuck_world::tool::{DeclarationPolicy, ToolContext, Toolbox};
use unstuck_world::workspace::{
    ProjectRepository, Shell, Workspace, WorkspaceKey, WorkspacePreparation,
};

use crate::guard;

/// A secret that must not leave.
pub(crate) const CANARY: &str = "canary-9f8e7d6c5b4a";
const PROJECT: &str = "shop";

/// A clock on which waiting takes no time: a wait for a time makes it come.
#[derive(Default)]
pub(crate) struct Jumping(AtomicU64);

#[async_trait]
impl Clock for Jumping {
    fn now(&self) -> Time {
        Time::from_millis(1_700_000_000_000 + self.0.load(Ordering::SeqCst))
    }

    async fn wait_until(&self, at: Time) {
        tokio::task::yield_now().await;
        self.0.fetch_add(at.since(self.now()).as_millis(), Ordering::SeqCst);
    }
}

/// Performs attempts with the real loop; everything else goes well.
struct Agents {
    repository: Arc<TestRepo>,
    store: MemoryStore,
    clock: Arc<Jumping>,
    policy: Arc<Policy>,
    /// The models, by the name of the task.
    models: BTreeMap<String, Arc<dyn Model>>,
    /// One thing at a time happens in a task's worktree: an attempt that was ended may still be busy
    /// there when the next one begins.
    turns: BTreeMap<String, tokio::sync::Mutex<()>>,
    handle: RunnerHandle,
}

#[async_trait]
impl Performer for Agents {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        match order.effect.what {
            EffectKind::Attempt { .. } => Box::pin(self.attempt(&order, &stop)).await,
            other => Some(succeed_effect(other).into()),
        }
    }

    async fn reap_leftovers(&self, _tasks: &[TaskId]) {}
}

impl Agents {
    async fn attempt(
        &self,
        order: &EffectRequest,
        stop: &CancellationToken,
    ) -> Option<EffectResult> {
        let _turn = self.turns[&order.task.name].lock().await;
        let workspace = self.workspace(order).await;
        let tools = self.tools(order, &workspace).await;
        let agent = AgentLoop {
            decider: Arc::new(self.handle.clone()),
            clock: Arc::clone(&self.clock) as _,
            policy: Arc::clone(&self.policy),
            model: Arc::clone(&self.models[&order.task.name]),
            redactor: Arc::new(Redactor::new([CANARY])),
            settings: ModelCallLimits { output_tokens_max: 1_000, price: None },
        };
        let kept = self.store.load_checkpoint(PROJECT, order.effect.task).await.unwrap();
        let given = AgentLoopInput { order, notes: "", tools: &tools, workspace: &workspace, kept };
        let finished = agent.run_attempt(given, stop).await;
        let change = DiffChange::from_diff(&workspace.create_patch().await.unwrap());
        let worktree = workspace.directory().display().to_string();
        let approach = |summary: Option<&str>| {
            Arc::new(Approach::from_attempt(&change, &finished.actions, summary, &worktree))
        };
        let outcome = match finished.end {
            AgentLoopEnd::Stopped => return None,
            AgentLoopEnd::Done { summary } => {
                EffectOutcome::Attempted { approach: approach(Some(&summary)) }
            }
            AgentLoopEnd::Failed(fault) => {
                EffectOutcome::Failed { fault: Arc::new(*fault), approach: Some(approach(None)) }
            }
        };
        Some(EffectResult::new(outcome, finished.spent))
    }

    fn lock(&self, order: &EffectRequest) -> PathBuf {
        self.repository.beside(&format!("{}.lock", order.effect.run))
    }

    async fn workspace(&self, order: &EffectRequest) -> Workspace {
        let project = ProjectRepository::open("git", &self.repository.root).await.unwrap();
        let start = project.resolve_head().await.unwrap();
        let EffectKind::Attempt { start: wanted } = order.effect.what else { panic!("no attempt") };
        let preparation = WorkspacePreparation {
            place: WorkspaceKey { build: order.build, task: order.effect.task },
            run: order.effect.run,
            start: wanted,
            head: project.ensure_build_head(order.build, &start).await.unwrap(),
            share: Vec::new(),
            setup: Vec::new(),
            in_place: false,
            now: self.clock.now(),
        };
        let shell = Shell {
            guard: guard(),
            lock: self.lock(order),
            inherits_environment: true,
            environment: Vec::new(),
            timeout: Duration::from_mins(1),
            wall: Wall::default(),
        };
        Workspace::prepare(&project, &preparation, &shell).await.unwrap()
    }

    async fn tools(&self, order: &EffectRequest, workspace: &Workspace) -> Toolbox {
        let path = OsString::from("/usr/local/bin:/usr/bin:/bin");
        let folder = self.repository.beside(&format!("shims-{}", order.effect.run));
        let shims =
            CommandShims::open_in(&folder).unwrap().refusing_mutators(&path, |_| false).unwrap();
        let all: Vec<_> = std::env::vars_os().filter(|(name, _)| name != "PATH").collect();
        let all = all.into_iter().chain([("PATH".into(), path)]);
        let ours = workspace.build_agent_environment(order.effect.run).await.unwrap();
        let fence = ScopeRules { allowed: vec!["src".into()], ..ScopeRules::default() };
        Toolbox::new(ToolContext {
            root: workspace.directory().to_owned(),
            folder: PathBuf::new(),
            scope: Fence::new(&fence).unwrap(),
            commands: CommandPolicy::new(&CommandRules::default()),
            guard: guard(),
            lock: self.lock(order),
            environment: CommandEnvironment::from_variables(all, &[], shims.folder())
                .with_variables(ours),
            shims,
            wall: Wall { writable: Some(Vec::new()), ..Wall::default() },
            network: NetworkIsolation::Open,
            timeout: Duration::from_mins(1),
            egress: None,
            declarable: DeclarationPolicy::default(),
        })
    }
}

/// A project with a loop at work on it.
pub(crate) struct Stage {
    project: RunningProject,
    pub(crate) clock: Arc<Jumping>,
    servers: Arc<BTreeMap<String, FakeServer>>,
    policy: Arc<Policy>,
    notices: broadcast::Receiver<RunnerNotice>,
    events: Vec<Event>,
    repository: Arc<TestRepo>,
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

impl Stage {
    /// One task, and what its model answers.
    pub(crate) async fn new(script: FakeScript) -> Self {
        Self::with(Policy::default(), [("a", script)]).await
    }

    /// Some tasks, each with its own model, all on one account.
    pub(crate) async fn with<const N: usize>(
        policy: Policy,
        scripts: [(&str, FakeScript); N],
    ) -> Self {
        let secret = format!("password = {CANARY}\n");
        let files = [("src/greeting", "Go away.\n"), ("src/secret", &secret)];
        let repository = Arc::new(TestRepo::with(&files));
        let mut servers = BTreeMap::new();
        for (name, script) in scripts {
            servers.insert(name.to_owned(), FakeServer::start(script).await.unwrap());
        }
        let (store, servers) = (MemoryStore::new(), Arc::new(servers));
        let stage = Self::open(store, Arc::default(), Arc::new(policy), servers, repository).await;
        let tasks = stage.servers.keys().map(|name| TaskSpec {
            name: name.clone(),
            title: format!("Task {name}"),
            goal: "Make the greeting friendly.".to_owned(),
            gate: GateKey(1),
            ..TaskSpec::default()
        });
        stage.start_build(tasks.collect(), 2).await;
        stage
    }

    async fn open(
        store: MemoryStore,
        clock: Arc<Jumping>,
        policy: Arc<Policy>,
        servers: Arc<BTreeMap<String, FakeServer>>,
        repository: Arc<TestRepo>,
    ) -> Self {
        let setup = RunnerSetup {
            policy: Arc::clone(&policy),
            clock: Arc::clone(&clock) as _,
            ..make_runner_setup(Arc::new(store.clone()), PROJECT)
        };
        let project = RunningProject::start_with(store, setup).await;
        let notices = project.handle.subscribe_notices();
        let models = servers.iter().map(|(name, server)| (name.clone(), model(server)));
        let turns = servers.keys().map(|name| (name.clone(), tokio::sync::Mutex::default()));
        let agents = Arc::new(Agents {
            turns: turns.collect(),
            repository: Arc::clone(&repository),
            store: project.store.clone(),
            clock: Arc::clone(&clock),
            policy: Arc::clone(&policy),
            models: models.collect(),
            handle: project.handle.clone(),
        });
        project.handle.attach_performer(PerformScope::Project, agents).await.unwrap();
        Self { project, clock, servers, policy, notices, events: Vec::new(), repository }
    }

    /// The process dies here and another one takes over.
    pub(crate) async fn crash(self) -> Self {
        let store = self.project.crash().await;
        Self::open(store, self.clock, self.policy, self.servers, self.repository).await
    }

    /// Waits until something happens that is as wanted.
    pub(crate) async fn sees(&mut self, wanted: impl Fn(&Event) -> bool) {
        loop {
            if let Ok(RunnerNotice::Event { recorded, .. }) = self.notices.recv().await {
                self.events.push(recorded.event.clone());
                if wanted(&recorded.event) {
                    return;
                }
            }
        }
    }

    pub(crate) async fn completed(&mut self) {
        self.wait_until(|state| state.builds().all(|build| build.state == BuildState::Completed))
            .await;
    }

    /// Waits until a question is open.
    pub(crate) async fn asked(&self) -> QuestionId {
        self.wait_until(|state| state.questions().next().is_some()).await;
        self.look(|state| state.questions().next().unwrap().id).await
    }

    pub(crate) async fn answer(&self, question: QuestionId, decision: Decision, words: &str) {
        let answer = Answer {
            question,
            decision,
            guidance: Some(Arc::from(words)),
            by: Arc::from("ada"),
            at: Time::from_millis(1),
        };
        self.store.record_answer(PROJECT, answer).await.unwrap();
        self.handle.take_answers().await.unwrap();
    }

    /// Everything that happened so far.
    pub(crate) fn happened(&mut self) -> &[Event] {
        loop {
            match self.notices.try_recv() {
                Ok(RunnerNotice::Event { recorded, .. }) => {
                    self.events.push(recorded.event.clone());
                }
                Ok(_) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return &self.events,
                Err(TryRecvError::Lagged(missed)) => panic!("{missed} events were missed"),
            }
        }
    }

    /// The codes of all faults so far.
    pub(crate) fn faults(&mut self) -> Vec<Code> {
        let of = |event: &Event| match event {
            Event::FaultMet { fault, .. } => Some(fault.code()),
            _ => None,
        };
        self.happened().iter().filter_map(of).collect()
    }

    /// The conversations that task's model was asked to go on with, in order.
    pub(crate) fn asked_of(&self, task: &str) -> Vec<Value> {
        let calls = self.servers[task].model_calls();
        calls.iter().map(|call| call.json()["messages"].clone()).collect()
    }

    /// A file of a task's worktree.
    pub(crate) fn file(&self, task: u32, path: &str) -> String {
        let tree = self.repository.path(".unstuck/worktrees");
        fs::read_to_string(tree.join(TaskId(task).to_string()).join(path)).unwrap()
    }

    /// Everything that is remembered of it, as text.
    pub(crate) async fn remembered(&mut self, task: TaskId) -> String {
        let kept = self.store.load_checkpoint(PROJECT, task).await.unwrap();
        let kept = kept.map(|kept| kept.as_str().to_owned());
        format!("{kept:?} {:?}", self.happened())
    }
}

fn model(server: &FakeServer) -> Arc<dyn Model> {
    Arc::new(AnthropicApi::new(make_model_settings(server)))
}

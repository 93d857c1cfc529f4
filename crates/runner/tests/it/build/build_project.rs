//! A real loop with a real build on a real repository; only the agents are scripted.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildId, Command, Event, RecordedEvent, Task, TaskState};
use unstuck_core::fault::{CheckStage, Fault};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_core::time::Span;
use unstuck_runner::agent::ModelCallLimits;
use unstuck_runner::build::{
    BuildPerformer, BuildSettings, ModelWorker, TaskGates, TaskSettings, TaskWorker,
};
use unstuck_runner::report::{BuildFacts, BuildReport};
use unstuck_runner::{Clock as _, PerformScope, RunnerSetup, SystemClock};
use unstuck_store::MemoryStore;
use unstuck_testkit::stage::{
    RunningProject, TestRepo, make_build_settings, make_checks, make_runner_setup,
    make_scripted_agent, make_task_settings,
};
use unstuck_world::agent::{self, Activity, Agent, AgentAssignment, Usage};
use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::egress::{EgressPolicy, HostPattern};
use unstuck_world::provider::Credential;
use unstuck_world::provider::prices::Price;
use unstuck_world::provider::script::ScriptedAgent;
use unstuck_world::redact::Redactor;
use unstuck_world::scope;
use unstuck_world::tool::{ActionRule, DeclarationPolicy};
use unstuck_world::workspace::ProjectRepository;

use crate::build::scripts::Job;
use crate::guard;

pub(crate) const PROJECT: &str = "shop";
/// A value that only the agent may see.
pub(crate) const CANARY: &str = "canary-4711-in-the-mine";

/// The token that services want to see.
pub(crate) const TOKEN: &str = "token-4711-of-the-shop";

/// An agent whose assignments are listened to.
struct Overheard {
    agent: ScriptedAgent,
    name: &'static str,
    heard: Heard,
    denials: Vec<agent::Denial>,
    usage: Option<Usage>,
}

type Heard = Arc<Mutex<Vec<(&'static str, AgentAssignment)>>>;

#[async_trait]
impl Agent for Overheard {
    async fn check_ready(&self) -> Result<(), Fault> {
        self.agent.check_ready().await
    }

    async fn work_on(
        &self,
        assignment: AgentAssignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> agent::AgentResult {
        self.heard.lock().unwrap().push((self.name, assignment.clone()));
        if let Some(usage) = self.usage {
            tell.send(Activity::Used { usage }).await.unwrap();
        }
        let allowed = assignment.allowed_commands.clone();
        let mut ended = self.agent.work_on(assignment, tell, stop).await;
        if let agent::AgentEnd::Finished { denials, .. } = &mut ended.end {
            let denied = self.denials.iter().filter(|denial| !allowed.contains(&denial.what));
            denials.extend(denied.cloned());
        }
        ended
    }
}

/// A build under way.
pub(crate) struct Stage {
    pub(crate) repo: TestRepo,
    project: RunningProject,
    jobs: Vec<Job>,
    heard: Heard,
    set: Set,
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

/// The special settings of a build.
#[derive(Clone, Default)]
pub(crate) struct Set {
    /// Denials that every agent reports, unless it was told that it may.
    pub(crate) denials: Vec<agent::Denial>,
    /// The work happens in the person's own tree.
    pub(crate) in_place: bool,
    pub(crate) disk_free_bytes_min: u64,
    /// The usage that every attempt reports.
    pub(crate) usage: Option<Usage>,
    /// The price of tokens.
    pub(crate) price: Option<Price>,
    /// The first agent says what it is kept from.
    pub(crate) says_walls: bool,
    /// Commands that a model must not run.
    pub(crate) blocked: Vec<String>,
}

impl Stage {
    /// Starts a build of these tasks, two at a time.
    pub(crate) async fn build(repo: TestRepo, jobs: Vec<Job>) -> Self {
        Self::with(Set::default(), repo, jobs).await
    }

    /// The same with something special about it.
    pub(crate) async fn with(set: Set, repo: TestRepo, jobs: Vec<Job>) -> Self {
        let in_place = set.in_place;
        let stage = Self::open(repo, jobs, MemoryStore::new(), Heard::default(), set).await;
        let tasks = stage.jobs.iter().map(spec).collect();
        let plan = Arc::new(Plan::new(tasks).unwrap());
        stage.submit(Command::StartBuild { plan, slots: 2, in_place }).await;
        stage
    }

    async fn open(
        repo: TestRepo,
        jobs: Vec<Job>,
        store: MemoryStore,
        heard: Heard,
        set: Set,
    ) -> Self {
        let policy = Arc::new(policy());
        let setup = RunnerSetup { policy, ..make_runner_setup(Arc::new(store.clone()), PROJECT) };
        let project = RunningProject::start_with(store, setup).await;
        let stage = Self { repo, project, jobs, heard, set };
        let world = BuildPerformer::new(
            stage.settings().await,
            Arc::new(stage.handle.clone()),
            Arc::new(stage.store.clone()),
            PROJECT,
            Arc::new(SystemClock),
        );
        stage.handle.attach_performer(PerformScope::Project, Arc::new(world)).await.unwrap();
        stage
    }

    /// The process dies here, and another one goes on.
    pub(crate) async fn crash(self) -> Self {
        let store = self.project.crash().await;
        Self::open(self.repo, self.jobs, store, self.heard, self.set).await
    }

    async fn settings(&self) -> BuildSettings {
        let environment = ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name)));
        let environment = environment.into_iter().filter_map(|(name, value)| Some((name, value?)));
        BuildSettings {
            in_place: self.set.in_place,
            disk_free_bytes_min: self.set.disk_free_bytes_min,
            says_walls: self.set.says_walls,
            environment: environment.chain([("CANARY".into(), CANARY.into())]).collect(),
            redactor: Arc::new(Redactor::new([CANARY, TOKEN])),
            credentials: [("TOKEN".to_owned(), Credential::new(TOKEN).unwrap())].into(),
            remote: Some("origin".to_owned()),
            tasks: self.jobs.iter().map(|job| (job.name.to_owned(), self.task(job))).collect(),
            ..make_build_settings(&self.repo, guard(), &[CANARY]).await
        }
    }

    fn worker(&self, job: &Job) -> TaskWorker {
        if let Some(mind) = &job.mind {
            return TaskWorker::Model(Arc::new(ModelWorker {
                model: mind.client(),
                settings: ModelCallLimits { output_tokens_max: 1_000, price: None },
                commands: CommandRules {
                    blocked: self.set.blocked.clone(),
                    ..CommandRules::default()
                },
                network: NetworkIsolation::Open,
                egress: EgressPolicy::Open,
                declarable: DeclarationPolicy {
                    secrets: ["TOKEN".to_owned()].into(),
                    pull_request: job.pull_request.clone(),
                    allowed: vec![
                        rule(None),
                        rule(Some("echo ${#TOKEN} *")),
                        rule(Some("curl -sS *")),
                        ActionRule { hosts: Vec::new(), ..rule(Some("curl -fsS *")) },
                    ],
                },
                policy: Arc::new(policy()),
            }));
        }
        let agent = make_scripted_agent(&job.script(), guard());
        let (heard, denials) = (Arc::clone(&self.heard), self.set.denials.clone());
        let (name, usage) = (job.name, self.set.usage);
        TaskWorker::Agent(Arc::new(Overheard { agent, name, heard, denials, usage }))
    }

    fn task(&self, job: &Job) -> TaskSettings {
        let checks = |stage, commands: &[String]| make_checks(stage, commands, &job.protect);
        TaskSettings {
            price: self.set.price,
            scope: scope::PathScope::new(&job.rules).unwrap(),
            gates: TaskGates {
                pre_commit: checks(CheckStage::PreCommit, &job.pre_commit),
                pre_push: checks(CheckStage::PrePush, &job.pre_push),
                pre_pr: checks(CheckStage::PrePr, &[]),
                baseline: job.baseline,
            },
            ..make_task_settings(self.worker(job))
        }
    }

    /// Waits until the build has ended, and tells how its tasks did.
    pub(crate) async fn ended(&self) -> BTreeMap<String, TaskState> {
        self.wait_until_quiet().await;
        let questions: Vec<String> =
            self.look(|state| state.questions().map(|q| format!("{:?}", q.fault)).collect()).await;
        assert_eq!(questions, Vec::<String>::new(), "a question is open");
        let named = |task: &Task| (task.spec.name.clone(), task.state.clone());
        self.look(move |state| state.tasks().map(named).collect()).await
    }

    /// Waits until the build has ended with every task done.
    pub(crate) async fn done(&self) {
        let tasks = self.ended().await;
        assert!(tasks.values().all(|state| *state == TaskState::Done), "{tasks:?}");
    }

    /// The assignments of an agent, attempt by attempt.
    pub(crate) fn assignments(&self, name: &str) -> Vec<AgentAssignment> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(task, _)| *task == name).map(|(_, told)| told.clone()).collect()
    }

    /// Waits until an agent has begun on a task so many times.
    pub(crate) async fn assigned(&self, name: &str, times: usize) {
        let mut notices = self.handle.subscribe_notices();
        while self.assignments(name).len() < times {
            notices.recv().await.ok();
        }
    }

    /// Waits until so many calls of tools were noted.
    pub(crate) async fn calls(&self, wanted: usize) {
        let mut notices = self.handle.subscribe_notices();
        let called = |recorded: &RecordedEvent| matches!(recorded.event, Event::ToolCalled { .. });
        while self.events().await.iter().filter(|event| called(event)).count() < wanted {
            notices.recv().await.ok();
        }
    }

    /// The folder of a task's worktree.
    pub(crate) fn worktree(&self, name: &str) -> PathBuf {
        self.assignments(name).pop().unwrap().directory
    }

    /// The report of the build.
    pub(crate) async fn report(&self) -> BuildReport {
        let seen = (true, SystemClock.now());
        let facts = BuildFacts::load(&self.store, PROJECT, None, seen).await.unwrap();
        BuildReport::from_facts(&facts.unwrap())
    }

    /// The name of the build's branch.
    pub(crate) fn branch() -> String {
        ProjectRepository::build_branch(BuildId(0))
    }
}

/// Waits are short here, and all else is as usual.
fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.backoff.base_ms = Span::from_millis(10);
    policy.backoff.cap_ms = Span::from_millis(40);
    policy.wait.release_every_ms = Span::from_millis(10);
    policy
}

fn spec(job: &Job) -> TaskSpec {
    TaskSpec {
        name: job.name.to_owned(),
        title: format!("Do {}", job.name),
        goal: format!("the goal of {}", job.name),
        depends_on: job.depends_on.clone(),
        file: job.file.clone(),
        gate: job.gate,
        mutations: job.mutations.iter().cloned().map(Arc::new).collect(),
        ..TaskSpec::default()
    }
}

/// The actions that are performed without asking, here: requests to this machine, or this command.
fn rule(command: Option<&str>) -> ActionRule {
    let command = command.map(str::to_owned);
    let (hosts, secrets) =
        (vec![HostPattern::parse("127.0.0.1:*").unwrap()], ["TOKEN".to_owned()].into());
    ActionRule { command, hosts, secrets }
}

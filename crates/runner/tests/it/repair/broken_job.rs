//! A job whose script is broken, in a real repository, with an agent that does as it is written.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{
    BuildId, Command, Effect, EffectId, EffectKind, Question, RunId, State, TaskId, TaskState,
};
use unstuck_core::fault::{CheckStage, Fault, Logic};
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::{Overrides, Policy};
use unstuck_core::time::Span;
use unstuck_runner::build::{BuildSettings, TaskGates, TaskSettings, TaskWorker};
use unstuck_runner::control::TokenKey;
use unstuck_runner::repair::{RepairSettings, ScriptRepairer};
use unstuck_runner::{
    EffectRequest, EffectResult, PerformScope, Performer as _, ResultFiles, RunnerSetup,
    ScriptCommand, ScriptPerformer, SystemClock,
};
use unstuck_store::MemoryStore;
use unstuck_testkit::stage::{
    RunningProject, TestRepo, make_build_settings, make_checks, make_job, make_runner_setup,
    make_scripted_agent, make_task_settings,
};
use unstuck_world::process::OwnInput;
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{PathScope, ScopeRules};

use crate::guard;

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
    pub(crate) repo: TestRepo,
    project: RunningProject,
    job: Job,
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

impl Stage {
    /// A repository with the script and a check, and a loop that knows the job.
    pub(crate) async fn new(job: Job) -> Self {
        let repo = TestRepo::with(&[
            ("run.sh", job.script),
            ("check.sh", "grep -q good run.sh\n"),
            ("other.txt", "mine\n"),
        ]);
        std::fs::create_dir_all(repo.beside("runs")).unwrap();
        let store = MemoryStore::new();
        let mut policy = Policy::default();
        policy.backoff.base_ms = Span::from_millis(10);
        policy.backoff.cap_ms = Span::from_millis(20);
        let policy = Arc::new(policy);
        let setup = RunnerSetup { policy, ..make_runner_setup(Arc::new(store.clone()), PROJECT) };
        Self { repo, project: RunningProject::start_with(store, setup).await, job }
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
            title: JOB.to_owned(),
            goal: "Says that all is good.".to_owned(),
            overrides: Overrides { repairs: Some(3), ..Overrides::default() },
            ..make_job(JOB)
        };
        let task = self.define_job(spec).await;
        let world = Arc::new(self.world().await);
        self.handle.attach_performer(PerformScope::Task(task), world).await.unwrap();
        self.submit(Command::FireJob { task }).await;
    }

    /// Waits until the job is over or asks.
    pub(crate) async fn over(&self) -> Result<(), Question> {
        let over = |state: &State| {
            let asked = state.questions().next().cloned();
            let done = matches!(state.job(JOB).unwrap().state, TaskState::Done);
            asked.map(Err).or_else(|| done.then_some(Ok(())))
        };
        self.wait_until(move |state| over(state).is_some()).await;
        self.look(over).await.unwrap()
    }

    /// Performs a repair as if it were ordered by itself.
    pub(crate) async fn perform(&self, world: &ScriptPerformer, run: u64) -> EffectResult {
        let order = EffectRequest {
            project: PROJECT.into(),
            effect: Effect {
                id: EffectId(run),
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
            environment: vec![("PATH".into(), path), ("UNSTUCK_DRY_RUN".into(), "1".into())],
            tasks: [(JOB.to_owned(), self.task())].into(),
            ..make_build_settings(&self.repo, guard(), &[CANARY]).await
        }
    }

    fn task(&self) -> TaskSettings {
        let steps = self.job.repairs.iter();
        let steps: Vec<String> = steps.map(|s| format!("[[attempt]]\nsteps = [{s}]\n")).collect();
        let agent = make_scripted_agent(&steps.concat(), guard());
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let rules = ScopeRules { allowed: list(&self.job.scope), ..ScopeRules::default() };
        let checks = |stage, commands: &[&str]| {
            make_checks(stage, &list(commands), &list(&self.job.protect)).with_firm_protection()
        };
        let settings = make_task_settings(TaskWorker::Agent(Arc::new(agent)));
        TaskSettings {
            scope: PathScope::new(&rules).unwrap(),
            gates: TaskGates {
                pre_commit: checks(CheckStage::PreCommit, &self.job.proof),
                pre_push: checks(CheckStage::PrePush, &[]),
                pre_pr: checks(CheckStage::PrePr, &[]),
                ..settings.gates
            },
            ..settings
        }
    }
}

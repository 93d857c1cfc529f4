//! A project in memory with a runner at work on it.

use std::sync::Arc;

use tokio::task::JoinHandle;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{
    Command, EffectKind, EffectOutcome, Event, Question, RecordedEvent, State, TaskId, TaskState,
};
use unstuck_core::fault::{Code, Fault};
use unstuck_core::plan::{JobSpec, Plan, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_core::question::Decision;
use unstuck_core::time::Time;
use unstuck_runner::{Runner, RunnerHandle, RunnerResult, RunnerSetup, SystemClock};
use unstuck_store::{EventPage, Holder, MemoryStore, Store};

pub struct RunningProject {
    pub name: Arc<str>,
    pub store: MemoryStore,
    pub handle: RunnerHandle,
    pub running: JoinHandle<RunnerResult>,
}

impl RunningProject {
    /// Takes a project with the default limits and the system's clock.
    pub async fn start(store: MemoryStore, name: &str) -> Self {
        let setup = make_runner_setup(Arc::new(store.clone()), name);
        Self::start_with(store, setup).await
    }

    /// Takes the project of a setup, whose store is this one.
    pub async fn start_with(store: MemoryStore, setup: RunnerSetup) -> Self {
        let name = Arc::clone(&setup.project);
        let runner = Runner::open(setup).await.unwrap();
        let handle = runner.handle();
        Self { name, store, handle, running: tokio::spawn(runner.run()) }
    }

    /// Ends the process without a word, and returns the store that the next one finds.
    pub async fn crash(self) -> MemoryStore {
        self.running.abort();
        let _ = self.running.await;
        self.store.clone_after_crash()
    }

    pub async fn submit(&self, command: Command) {
        self.handle.submit_command(command).await.unwrap();
    }

    pub async fn start_build(&self, tasks: Vec<TaskSpec>, slots: u32) {
        let plan = Arc::new(Plan::new(tasks).unwrap());
        self.submit(Command::StartBuild { plan, slots, in_place: false }).await;
    }

    /// Defines a job, and returns its task.
    pub async fn define_job(&self, spec: TaskSpec) -> TaskId {
        let name = spec.name.clone();
        self.submit(Command::DefineJob { spec: Arc::new(spec) }).await;
        self.look(move |state| state.job(&name).unwrap().id).await
    }

    /// Defines a plain job and fires it.
    pub async fn fire_job(&self, name: &str) -> TaskId {
        let task = self.define_job(make_job(name)).await;
        self.submit(Command::FireJob { task }).await;
        task
    }

    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> T {
        self.handle.read_state(look).await.unwrap()
    }

    /// Waits until the state is as wanted. It changes only with a notice.
    pub async fn wait_until(&self, wanted: impl Fn(&State) -> bool + Clone + Send + 'static) {
        let mut notices = self.handle.subscribe_notices();
        while !self.look(wanted.clone()).await {
            notices.recv().await.ok();
        }
    }

    /// Waits until all builds have ended or a person is asked.
    pub async fn wait_until_quiet(&self) {
        self.wait_until(|state| has_ended(state) || state.questions().next().is_some()).await;
    }

    /// Waits until all builds have ended.
    pub async fn wait_until_ended(&self) {
        self.wait_until(has_ended).await;
    }

    pub async fn wait_for_question(&self) -> Question {
        self.wait_until_quiet().await;
        self.look(|state| state.questions().next().cloned()).await.unwrap()
    }

    /// Answers the open question.
    pub async fn answer(&self, decision: Decision, guidance: Option<&str>) {
        let question = self.wait_for_question().await.id;
        let guidance = guidance.map(Arc::from);
        self.submit(Command::Answer { question, decision, guidance, by: "ada".into() }).await;
    }

    pub async fn task_states(&self) -> Vec<TaskState> {
        self.look(|state| state.tasks().map(|task| task.state.clone()).collect()).await
    }

    pub async fn events(&self) -> Vec<RecordedEvent> {
        let page = EventPage { after: 0, limit: 100_000 };
        self.store.load_events(&self.name, page).await.unwrap()
    }

    /// Returns what was found in the events, in order.
    pub async fn find_events<T>(&self, find: impl FnMut(Event) -> Option<T>) -> Vec<T> {
        self.events().await.into_iter().map(|recorded| recorded.event).filter_map(find).collect()
    }

    pub async fn faults(&self) -> Vec<Arc<Fault>> {
        let met =
            |event| if let Event::FaultMet { fault, .. } = event { Some(fault) } else { None };
        self.find_events(met).await
    }

    pub async fn fault_codes(&self) -> Vec<Code> {
        self.faults().await.iter().map(|fault| fault.code()).collect()
    }

    /// Returns what people were told while the agents worked, in order.
    pub async fn narrations(&self) -> Vec<String> {
        let told = |event| match event {
            Event::Narrated { text, .. } | Event::Remarked { text, .. } => Some(text.to_string()),
            _ => None,
        };
        self.find_events(told).await
    }
}

fn has_ended(state: &State) -> bool {
    state.builds().all(|build| build.state.has_ended())
}

/// Makes the setup of a runner with the default limits and the system's clock.
pub fn make_runner_setup(store: Arc<dyn Store>, project: &str) -> RunnerSetup {
    RunnerSetup {
        store,
        project: project.into(),
        holder: Holder { pid: 1, verb: "test".into(), since: Time::from_millis(0) },
        policy: Arc::new(Policy::default()),
        clock: Arc::new(SystemClock),
        gates: None,
        turns: None,
    }
}

/// Makes a plain job.
pub fn make_job(name: &str) -> TaskSpec {
    TaskSpec { name: name.to_owned(), job: Some(JobSpec::default()), ..TaskSpec::default() }
}

/// Makes plain tasks with these names.
pub fn make_tasks<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<TaskSpec> {
    let task = |name: N| TaskSpec { name: name.into(), ..TaskSpec::default() };
    names.into_iter().map(task).collect()
}

/// Returns the outcome of an effect that succeeds.
pub fn succeed_effect(effect: EffectKind) -> EffectOutcome {
    match effect {
        EffectKind::Attempt { .. } => EffectOutcome::Attempted {
            approach: Arc::new(Approach { files_changed: 1, ..Approach::default() }),
        },
        EffectKind::Perform { .. } => EffectOutcome::Applied { result: Arc::from("ok") },
        EffectKind::Probe { .. } => EffectOutcome::NotApplied,
        _ => EffectOutcome::Done,
    }
}

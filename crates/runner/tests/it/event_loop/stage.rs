//! A project, a loop and a world that does what it is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{BuildState, Command, EffectKind, EffectOutcome, State, TaskId};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::{Span, Time};
use unstuck_runner::{
    Clock, EffectRequest, EffectResult, GateMirror, PerformScope, Performer, Runner, RunnerHandle,
    RunnerResult, RunnerSetup, TaskLocks,
};
use unstuck_store::{Holder, MemoryStore};

/// The test runtime's own time: it passes when nothing else is left to do.
pub(crate) struct VirtualClock {
    began: Instant,
    set_back_ms: AtomicU64,
}

impl VirtualClock {
    pub(crate) const START: Time = Time::from_millis(1_700_000_000_000);

    fn new() -> Self {
        Self { began: Instant::now(), set_back_ms: AtomicU64::new(0) }
    }

    /// Sets the clock back, as a person may.
    pub(crate) fn set_back(&self, by: Span) {
        self.set_back_ms.fetch_add(by.as_millis(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Time {
        let passed = Instant::now().duration_since(self.began).as_millis();
        let back = self.set_back_ms.load(Ordering::SeqCst);
        Self::START + Span::from_millis(u64::try_from(passed).unwrap()) - Span::from_millis(back)
    }

    async fn wait_until(&self, at: Time) {
        tokio::time::sleep(at.since(self.now()).into()).await;
    }
}

type Rule = dyn Fn(&EffectRequest, u32) -> Reaction + Send + Sync;

/// The reaction of the world to an effect.
pub(crate) enum Reaction {
    /// The effect ends like this.
    Ends(EffectOutcome),
    /// The effect asks for permission to cost this much, and ends like this with it.
    Costs(Amount, EffectOutcome),
    /// The effect goes on until it is stopped.
    Hangs,
    /// The effect goes on until the test lets it, then ends like this.
    Waits(Arc<Semaphore>, EffectOutcome),
}

/// A world that follows a rule and remembers what it was asked to do.
pub(crate) struct Told {
    rule: Box<Rule>,
    handle: OnceLock<RunnerHandle>,
    pub(crate) done: Mutex<Vec<EffectRequest>>,
    times: Mutex<BTreeMap<(TaskId, String), u32>>,
    pub(crate) started: mpsc::UnboundedSender<EffectRequest>,
    pub(crate) cleared: Mutex<Vec<TaskId>>,
}

#[async_trait]
impl Performer for Told {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let times = {
            let mut times = self.times.lock().unwrap();
            let what = serde_json::to_value(order.effect.what).unwrap()["do"].to_string();
            let key = (order.effect.task, what);
            let times = times.entry(key).or_default();
            *times += 1;
            *times
        };
        self.done.lock().unwrap().push(order.clone());
        let (effect, reaction) = (order.effect.id, (self.rule)(&order, times));
        self.started.send(order).ok();
        match reaction {
            Reaction::Ends(outcome) => Some(outcome.into()),
            Reaction::Costs(amount, outcome) => {
                let handle = self.handle.get().unwrap();
                handle.submit_command(Command::Reserve { effect, amount }).await.ok();
                (!stop.is_cancelled()).then_some(EffectResult { outcome, spent: amount })
            }
            Reaction::Hangs => {
                stop.cancelled().await;
                None
            }
            Reaction::Waits(permit, outcome) => {
                permit.acquire().await.unwrap().forget();
                Some(outcome.into())
            }
        }
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        self.cleared.lock().unwrap().extend(tasks);
    }
}

/// The outcome of an effect that goes well.
pub(crate) fn goes_well(order: &EffectRequest) -> EffectOutcome {
    match order.effect.what {
        EffectKind::Attempt { .. } => EffectOutcome::Attempted {
            approach: Arc::new(Approach { files_changed: 1, ..Approach::default() }),
        },
        EffectKind::Perform { .. } => EffectOutcome::Applied { result: Arc::from("ok") },
        EffectKind::Probe { .. } => EffectOutcome::NotApplied,
        _ => EffectOutcome::Done,
    }
}

/// The parts of a loop that other processes share with it.
pub(crate) struct Shared {
    pub(crate) project: Arc<str>,
    pub(crate) gates: Option<GateMirror>,
    pub(crate) turns: Option<TaskLocks>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { project: "shop".into(), gates: None, turns: None }
    }
}

/// A loop that runs, and what it works with.
pub(crate) struct Stage {
    pub(crate) store: MemoryStore,
    pub(crate) handle: RunnerHandle,
    pub(crate) world: Arc<Told>,
    pub(crate) started: mpsc::UnboundedReceiver<EffectRequest>,
    pub(crate) running: JoinHandle<RunnerResult>,
    pub(crate) clock: Arc<VirtualClock>,
}

impl Stage {
    pub(crate) async fn new(
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::on(MemoryStore::new(), Arc::new(VirtualClock::new()), rule).await
    }

    /// A loop of a project with this name.
    pub(crate) async fn of(
        project: &str,
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared { project: project.into(), ..Shared::default() };
        let clock = Arc::new(VirtualClock::new());
        let stage = Self::with(MemoryStore::new(), clock, Policy::default(), shared, rule).await;
        stage.attach().await;
        stage
    }

    /// A loop on what a store holds.
    pub(crate) async fn on(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let stage = Self::alone(store, clock, rule).await;
        stage.attach().await;
        stage
    }

    /// A loop without a performer.
    pub(crate) async fn alone(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::with(store, clock, Policy::default(), Shared::default(), rule).await
    }

    /// A loop with limits of its own, which shares something with other processes.
    pub(crate) async fn with(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        policy: Policy,
        shared: Shared,
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let holder = Holder { pid: 1, verb: "test".into(), since: VirtualClock::START };
        let setup = RunnerSetup {
            store: Arc::new(store.clone()),
            project: shared.project,
            holder,
            policy: Arc::new(policy),
            clock: Arc::clone(&clock) as _,
            gates: shared.gates,
            turns: shared.turns,
        };
        let runner = Runner::open(setup).await.unwrap();
        let handle = runner.handle();
        let (send, started) = mpsc::unbounded_channel();
        let world = Arc::new(Told {
            rule: Box::new(rule),
            handle: OnceLock::from(handle.clone()),
            done: Mutex::default(),
            times: Mutex::default(),
            started: send,
            cleared: Mutex::default(),
        });
        let running = tokio::spawn(runner.run());
        Self { store, handle, world, started, running, clock }
    }

    /// Performs everything from now on.
    pub(crate) async fn attach(&self) {
        self.handle
            .attach_performer(PerformScope::Project, Arc::clone(&self.world) as _)
            .await
            .unwrap();
    }

    /// The process dies here: what another one finds.
    pub(crate) async fn crash(self) -> (MemoryStore, Arc<VirtualClock>) {
        self.running.abort();
        let _ = self.running.await;
        (self.store.clone_after_crash(), self.clock)
    }

    pub(crate) async fn build(&self, tasks: u32, slots: u32) {
        let tasks = (0..tasks)
            .map(|n| TaskSpec { name: format!("task {n}"), ..TaskSpec::default() })
            .collect();
        let plan = Arc::new(Plan::new(tasks).unwrap());
        let start = Command::StartBuild { plan, slots, in_place: false };
        self.handle.submit_command(start).await.unwrap();
    }

    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> T {
        self.handle.read_state(look).await.unwrap()
    }

    /// Waits until the state is as wanted; it moves only when something is told.
    pub(crate) async fn until(&self, wanted: impl Fn(&State) -> bool + Clone + Send + 'static) {
        let mut notices = self.handle.subscribe_notices();
        while !self.look(wanted.clone()).await {
            notices.recv().await.ok();
        }
    }

    /// Waits until all builds have ended.
    pub(crate) async fn ended(&self) {
        self.until(|state| state.builds().all(|build| build.state.has_ended())).await;
    }

    pub(crate) async fn completed(&self) {
        self.ended().await;
        let all = |state: &State| state.builds().all(|b| b.state == BuildState::Completed);
        assert!(self.look(all).await);
    }

    pub(crate) fn performed(&self, what: impl Fn(&EffectKind) -> bool) -> usize {
        self.world.done.lock().unwrap().iter().filter(|order| what(&order.effect.what)).count()
    }
}

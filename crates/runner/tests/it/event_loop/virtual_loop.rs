//! A project, a loop and a world that does what it is told.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{BuildState, Command, EffectKind, EffectOutcome, State, TaskId};
use unstuck_core::policy::Amount;
use unstuck_core::time::{Span, Time};
use unstuck_runner::{
    Clock, EffectRequest, EffectResult, PerformScope, Performer, RunnerHandle, RunnerSetup,
};
use unstuck_store::MemoryStore;
use unstuck_testkit::stage::{RunningProject, make_runner_setup, make_tasks, succeed_effect};

/// The test runtime's own time: it passes when nothing else is left to do.
pub(crate) struct VirtualClock {
    began: Instant,
    set_back_ms: AtomicU64,
}

impl VirtualClock {
    const START: Time = Time::from_millis(1_700_000_000_000);

    /// Sets the clock back, as a person may.
    pub(crate) fn set_back(&self, by: Span) {
        self.set_back_ms.fetch_add(by.as_millis(), Ordering::SeqCst);
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self { began: Instant::now(), set_back_ms: AtomicU64::new(0) }
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
    handle: RunnerHandle,
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
                self.handle.submit_command(Command::Reserve { effect, amount }).await.ok();
                (!stop.is_cancelled()).then_some(EffectResult::new(outcome, amount))
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
    succeed_effect(order.effect.what)
}

/// The rule of a world in which everything goes well.
pub(crate) fn all_well(order: &EffectRequest, _: u32) -> Reaction {
    Reaction::Ends(goes_well(order))
}

/// A loop that runs, and what it works with.
pub(crate) struct Stage {
    pub(crate) project: RunningProject,
    pub(crate) world: Arc<Told>,
    pub(crate) started: mpsc::UnboundedReceiver<EffectRequest>,
    pub(crate) clock: Arc<VirtualClock>,
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

impl Stage {
    pub(crate) async fn new(
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::on(MemoryStore::new(), Arc::default(), rule).await
    }

    /// A loop on what a store holds.
    pub(crate) async fn on(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::with(store, clock, |_| (), rule).await
    }

    /// A loop with a setup of its own.
    pub(crate) async fn with(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        set_up: impl FnOnce(&mut RunnerSetup),
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let stage = Self::alone(store, clock, set_up, rule).await;
        let world = Arc::clone(&stage.world) as _;
        stage.handle.attach_performer(PerformScope::Project, world).await.unwrap();
        stage
    }

    /// A loop without a performer.
    pub(crate) async fn alone(
        store: MemoryStore,
        clock: Arc<VirtualClock>,
        set_up: impl FnOnce(&mut RunnerSetup),
        rule: impl Fn(&EffectRequest, u32) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let mut setup = make_runner_setup(Arc::new(store.clone()), "shop");
        setup.clock = Arc::clone(&clock) as _;
        set_up(&mut setup);
        let project = RunningProject::start_with(store, setup).await;
        let (send, started) = mpsc::unbounded_channel();
        let world = Arc::new(Told {
            rule: Box::new(rule),
            handle: project.handle.clone(),
            done: Mutex::default(),
            times: Mutex::default(),
            started: send,
            cleared: Mutex::default(),
        });
        Self { project, world, started, clock }
    }

    /// The process dies here: what another one finds.
    pub(crate) async fn crash(self) -> (MemoryStore, Arc<VirtualClock>) {
        (self.project.crash().await, self.clock)
    }

    pub(crate) async fn build(&self, tasks: u32, slots: u32) {
        self.start_build(make_tasks((0..tasks).map(|n| format!("task {n}"))), slots).await;
    }

    pub(crate) async fn completed(&self) {
        self.wait_until_ended().await;
        let all = |state: &State| state.builds().all(|b| b.state == BuildState::Completed);
        assert!(self.look(all).await);
    }

    pub(crate) fn performed(&self, what: impl Fn(&EffectKind) -> bool) -> usize {
        self.world.done.lock().unwrap().iter().filter(|order| what(&order.effect.what)).count()
    }
}

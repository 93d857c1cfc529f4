//! A project whose decisions are written down at once, a clock that is moved by hand, and channels to
//! a receiver on a local port.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;
use unstuck_core::engine::{Command, Effect, EffectOutcome, Rng, State, TaskId, decide};
use unstuck_core::fault::Code;
use unstuck_core::plan::{JobSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};
use unstuck_runner::Clock;
use unstuck_runner::notify::{NotificationSender, NotifySetup};
use unstuck_store::{Batch, Claim, Holder, Journal, MemoryStore, Store as _};
use unstuck_testkit::stage::succeed_effect;
use unstuck_testkit::store::make_fault;
use unstuck_world::fake::receiver::FakeReceiver;
use unstuck_world::notify::{ChannelContext, NotifyChannel, TimeZone};
use unstuck_world::process::GuardCommand;
use unstuck_world::redact::Redactor;

pub(crate) const PROJECT: &str = "shop";
/// 2023-11-14T22:13:20Z.
pub(crate) const START: Time = Time::from_millis(1_700_000_000_000);

/// Longer than anything here takes.
const GRACE: Duration = Duration::from_mins(1);

/// A clock that is moved by hand.
pub(crate) struct HandClock(watch::Sender<Time>);

impl HandClock {
    /// Moves it.
    pub(crate) fn pass(&self, span: Span) {
        self.0.send_modify(|now| *now = *now + span);
    }

    /// Moves it once a task waits for it: the time that it waits for was decided before.
    pub(crate) async fn pass_when_waited_for(&self, span: Span) {
        while self.0.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        self.pass(span);
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Time {
        *self.0.borrow()
    }

    async fn wait_until(&self, at: Time) {
        self.0.subscribe().wait_for(|now| *now >= at).await.unwrap();
    }
}

/// One project.
pub(crate) struct Stage {
    pub(crate) store: MemoryStore,
    pub(crate) clock: Arc<HandClock>,
    state: State,
    journal: Box<dyn Journal>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::on(MemoryStore::new(), Arc::new(HandClock(watch::Sender::new(START)))).await
    }

    async fn on(store: MemoryStore, clock: Arc<HandClock>) -> Self {
        let holder = Holder { pid: 1, verb: "test".into(), since: START };
        let Claim { state, journal, .. } = store.claim_project(PROJECT, &holder).await.unwrap();
        Self { store, clock, state, journal }
    }

    /// The process dies, and another one goes on.
    pub(crate) async fn die(self) -> Self {
        Self::on(self.store.clone_after_crash(), self.clock).await
    }

    /// Tells what happens to these channels.
    pub(crate) async fn sender(&self, channels: Vec<NotifyChannel>) -> NotificationSender {
        let outgoing = NotifySetup {
            store: Arc::new(self.store.clone()),
            project: PROJECT.into(),
            clock: Arc::clone(&self.clock) as _,
            channels,
            links: None,
        };
        NotificationSender::start(outgoing).await.unwrap()
    }

    pub(crate) async fn command(&mut self, command: Command) {
        let mut rng = Rng::for_decision(PROJECT, self.state.seq());
        let now = self.clock.now();
        let policy = Policy::default();
        let events = decide(&mut self.state, command, &policy, now, &mut rng).unwrap();
        let batch = Batch::new(&self.state, events);
        self.journal.append_batch(batch).wait_until_durable().await.unwrap();
    }

    pub(crate) async fn build(&mut self, names: &[&str]) {
        let tasks = names.iter().map(|name| task(name)).collect();
        let plan = Arc::new(Plan::new(tasks).unwrap());
        self.command(Command::StartBuild { plan, slots: 100, in_place: false }).await;
    }

    /// Has a job started once.
    pub(crate) async fn fire(&mut self, name: &str) {
        if !self.state.tasks().any(|task| task.spec.name == name) {
            let spec = TaskSpec { job: Some(JobSpec::default()), ..task(name) };
            self.command(Command::DefineJob { spec: Arc::new(spec) }).await;
        }
        self.command(Command::FireJob { task: self.id(name) }).await;
    }

    fn id(&self, name: &str) -> TaskId {
        self.state.tasks().find(|task| task.spec.name == name).unwrap().id
    }

    fn owed(&self, name: &str) -> Effect {
        let task = self.id(name);
        let owed = self.state.outstanding_effects();
        owed.into_iter().rfind(|effect| effect.task == task).unwrap()
    }

    async fn settle(&mut self, name: &str, outcome: EffectOutcome) {
        let effect = self.owed(name).id;
        self.command(Command::Settle { effect, outcome, spent: Amount::ZERO }).await;
    }

    /// The work of a task fails.
    pub(crate) async fn fails(&mut self, name: &str, code: Code, error: &str) {
        let fault = make_fault(code, error).into();
        self.settle(name, EffectOutcome::Failed { fault, approach: None }).await;
    }

    /// A task does all it has to.
    pub(crate) async fn succeeds(&mut self, name: &str) {
        for _ in ["attempt", "check", "commit", "emit"] {
            let outcome = succeed_effect(self.owed(name).what);
            self.settle(name, outcome).await;
        }
    }

    pub(crate) async fn answer(&mut self, decision: Decision) {
        let question = self.state.questions().next().unwrap().id;
        let by = "ada".into();
        self.command(Command::Answer { question, decision, guidance: None, by }).await;
    }
}

/// Tells all that can be told.
pub(crate) async fn finish(sender: NotificationSender) {
    sender.finish(GRACE).await;
}

/// A channel to a receiver.
pub(crate) fn hook(name: &str, receiver: &FakeReceiver, more: &str) -> NotifyChannel {
    let toml = format!("kind='webhook'\nurl='{}'\n{more}", receiver.url(&format!("/{name}")));
    channel(name, &toml)
}

pub(crate) fn channel(name: &str, toml: &str) -> NotifyChannel {
    channel_hiding(name, toml, [])
}

/// A channel whose messages do not have these secrets.
pub(crate) fn channel_hiding<const N: usize>(
    name: &str,
    toml: &str,
    secrets: [&str; N],
) -> NotifyChannel {
    let means = ChannelContext {
        redactor: Arc::new(Redactor::new(secrets)),
        zone: TimeZone::UTC,
        guard: GuardCommand { executable: "/bin/false".into(), arguments: Vec::new() },
        locks: Path::new("/").into(),
        directory: Path::new("/").into(),
        path: None,
    };
    NotifyChannel::new(name, toml::from_str(toml).unwrap(), &means).unwrap()
}

/// The values of a field in the bodies that a receiver got.
pub(crate) fn got(receiver: &FakeReceiver, field: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    receiver.recorded_requests().iter().map(|seen| text(&seen.json()[field])).collect()
}

fn task(name: &str) -> TaskSpec {
    let title = format!("Do {name}");
    TaskSpec { name: name.to_owned(), title, ..TaskSpec::default() }
}

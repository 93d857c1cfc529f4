//! Unstuck in a scenario: the real engine in the real loop, with the default limits, on an in-memory store
//! and in virtual time.

mod perform;
mod person;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Event, State, TaskState};
use unstuck_core::policy::Policy;
use unstuck_core::time::Time;
use unstuck_runner::{Clock, CommandError, Ended, Handle, Runner, Scope, Setup};
use unstuck_store::{Holder, MemoryStore, Page, Store as _, StoreError};

use super::measure::Measured;
use super::plan::plan;
use super::scenario::Scenario;
use super::site::{RESTART, START, Site};
use perform::Performer;
use person::Person;

const PROJECT: &str = "healing";
/// Maximum duration of a build; a longer one never ends.
const DAYS_MAX: Duration = Duration::from_hours(24 * 30);
const EVENTS_MAX: u32 = 1_000_000;

/// The reason why a scenario could not be played to its end.
#[derive(Clone, Debug)]
pub struct Stuck(String);

impl Stuck {
    pub(super) fn because(error: &impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stuck {}

impl From<CommandError> for Stuck {
    fn from(error: CommandError) -> Self {
        Self(error.to_string())
    }
}

impl From<StoreError> for Stuck {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// The clock of a site, for the loop.
struct SiteClock(Arc<Site>);

#[async_trait]
impl Clock for SiteClock {
    fn now(&self) -> Time {
        self.0.now()
    }

    async fn until(&self, at: Time) {
        tokio::time::sleep(at.since(self.now()).into()).await;
    }
}

/// Plays a scenario to its end. The runtime's time must be paused and advance automatically.
pub async fn play(scenario: &Arc<Scenario>) -> Result<Measured, Stuck> {
    match tokio::time::timeout(DAYS_MAX, played(scenario)).await {
        Ok(measured) => measured,
        Err(_) => Err(Stuck("it never came to its end".to_owned())),
    }
}

async fn played(scenario: &Arc<Scenario>) -> Result<Measured, Stuck> {
    let site = Arc::new(Site::new(Arc::clone(scenario), 0));
    let mut store = MemoryStore::new();
    let mut person = Person::new(Arc::clone(&site));
    let mut life = Life::begin(&site, &store).await?;
    let plan = plan(scenario).map_err(|wrong| Stuck(wrong.to_string()))?;
    let start =
        Command::StartBuild { plan: Arc::new(plan), slots: scenario.slots(), in_place: false };
    life.handle.command(start).await?;
    loop {
        tokio::select! {
            biased;
            () = site.killed() => {
                life.die().await;
                store = store.crash();
                tokio::time::sleep(RESTART).await;
                life = Life::begin(&site, &store).await?;
            }
            ended = life.until_over(&store, &mut person) => {
                ended?;
                break;
            }
        }
    }
    let seconds = site.passed().as_secs();
    let done = life.handle.look(done).await?;
    life.handle.shut_down(true).await;
    let mut measured = Measured {
        done,
        calls: site.calls(),
        effects: site.effects(),
        seconds,
        ..Measured::default()
    };
    for recorded in store.events(PROJECT, Page { after: 0, limit: EVENTS_MAX }).await? {
        match recorded.event {
            Event::QuestionAsked { .. } => measured.questions += 1,
            Event::FaultMet { fault, .. } => {
                measured.codes.insert(fault.code());
            }
            _ => {}
        }
    }
    Ok(measured)
}

fn done(state: &State) -> BTreeSet<String> {
    let done = state.tasks().filter(|task| task.state == TaskState::Done);
    done.map(|task| task.spec.name.clone()).collect()
}

/// The loop from one start to its end or death.
struct Life {
    handle: Handle,
    running: JoinHandle<Ended>,
}

impl Life {
    async fn begin(site: &Arc<Site>, store: &MemoryStore) -> Result<Self, Stuck> {
        let clock: Arc<dyn Clock> = Arc::new(SiteClock(Arc::clone(site)));
        let setup = Setup {
            store: Arc::new(store.clone()),
            project: PROJECT.into(),
            holder: Holder { pid: 1, verb: PROJECT.into(), since: START },
            policy: Arc::new(Policy::default()),
            clock: Arc::clone(&clock),
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await?;
        let handle = runner.handle();
        let running = tokio::spawn(runner.run());
        let performer = Performer { site: Arc::clone(site), handle: handle.clone(), clock };
        handle.attach(Scope::Project, Arc::new(performer)).await?;
        Ok(Self { handle, running })
    }

    /// Lets a person answer questions until the build is over.
    async fn until_over(&self, store: &MemoryStore, person: &mut Person) -> Result<(), Stuck> {
        let mut notices = self.handle.watch();
        loop {
            let over = |state: &State| state.builds().all(|build| build.state.has_ended());
            if self.handle.look(over).await? {
                return Ok(());
            }
            person.reads(&self.handle).await?;
            tokio::select! {
                biased;
                _ = notices.recv() => {}
                question = person.next() => person.answers(question, PROJECT, &self.handle, store).await?,
            }
        }
    }

    /// Kills the loop like `kill -9`: everything that is not durable is lost.
    async fn die(self) {
        self.running.abort();
        let _ = self.running.await;
    }
}

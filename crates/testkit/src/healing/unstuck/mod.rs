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
use unstuck_runner::{
    Clock, CommandError, PerformScope, Runner, RunnerHandle, RunnerResult, RunnerSetup,
};
use unstuck_store::{EventPage, Holder, MemoryStore, Store as _, StoreError};

use super::measure::ScenarioMeasurement;
use super::scenario::{Scenario, make_plan};
use super::site::{RESTART, START, ScenarioSite};
use perform::ScenarioPerformer;
use person::SimulatedPerson;

const PROJECT: &str = "healing";
/// Maximum duration of a build; a longer one never ends.
const DAYS_MAX: Duration = Duration::from_hours(24 * 30);
const EVENTS_MAX: u32 = 1_000_000;

/// The reason why a scenario could not be played to its end.
#[derive(Clone, Debug)]
pub struct ScenarioPlayError(String);

impl ScenarioPlayError {
    pub(super) fn from_error(error: &impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for ScenarioPlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScenarioPlayError {}

impl From<CommandError> for ScenarioPlayError {
    fn from(error: CommandError) -> Self {
        Self(error.to_string())
    }
}

impl From<StoreError> for ScenarioPlayError {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

struct SiteClock(Arc<ScenarioSite>);

#[async_trait]
impl Clock for SiteClock {
    fn now(&self) -> Time {
        self.0.now()
    }

    async fn wait_until(&self, at: Time) {
        tokio::time::sleep(at.since(self.now()).into()).await;
    }
}

/// Plays a scenario to its end. The runtime's time must be paused and advance automatically.
pub async fn play_scenario(
    scenario: &Arc<Scenario>,
) -> Result<ScenarioMeasurement, ScenarioPlayError> {
    match tokio::time::timeout(DAYS_MAX, play_to_end(scenario)).await {
        Ok(measured) => measured,
        Err(_) => Err(ScenarioPlayError("it never came to its end".to_owned())),
    }
}

async fn play_to_end(scenario: &Arc<Scenario>) -> Result<ScenarioMeasurement, ScenarioPlayError> {
    let site = Arc::new(ScenarioSite::new(Arc::clone(scenario), 0));
    let mut store = MemoryStore::new();
    let mut person = SimulatedPerson::new(Arc::clone(&site));
    let mut life = RunnerLife::start(&site, &store).await?;
    let plan = make_plan(scenario).map_err(|wrong| ScenarioPlayError(wrong.to_string()))?;
    let start =
        Command::StartBuild { plan: Arc::new(plan), slots: scenario.slot_count(), in_place: false };
    life.handle.submit_command(start).await?;
    loop {
        tokio::select! {
            biased;
            () = site.wait_until_killed() => {
                life.kill().await;
                store = store.clone_after_crash();
                tokio::time::sleep(RESTART).await;
                life = RunnerLife::start(&site, &store).await?;
            }
            ended = life.answer_until_over(&store, &mut person) => {
                ended?;
                break;
            }
        }
    }
    let seconds = site.elapsed().as_secs();
    let done = life.handle.read_state(done_tasks).await?;
    life.handle.shut_down(true).await;
    let mut measured = ScenarioMeasurement {
        done,
        calls: site.call_count(),
        effects: site.effect_counts(),
        seconds,
        ..ScenarioMeasurement::default()
    };
    for recorded in store.load_events(PROJECT, EventPage { after: 0, limit: EVENTS_MAX }).await? {
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

fn done_tasks(state: &State) -> BTreeSet<String> {
    let done = state.tasks().filter(|task| task.state == TaskState::Done);
    done.map(|task| task.spec.name.clone()).collect()
}

/// The loop from one start to its end or death.
struct RunnerLife {
    handle: RunnerHandle,
    running: JoinHandle<RunnerResult>,
}

impl RunnerLife {
    async fn start(
        site: &Arc<ScenarioSite>,
        store: &MemoryStore,
    ) -> Result<Self, ScenarioPlayError> {
        let clock: Arc<dyn Clock> = Arc::new(SiteClock(Arc::clone(site)));
        let setup = RunnerSetup {
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
        let performer = ScenarioPerformer { site: Arc::clone(site), handle: handle.clone(), clock };
        handle.attach_performer(PerformScope::Project, Arc::new(performer)).await?;
        Ok(Self { handle, running })
    }

    /// Lets a person answer questions until the build is over.
    async fn answer_until_over(
        &self,
        store: &MemoryStore,
        person: &mut SimulatedPerson,
    ) -> Result<(), ScenarioPlayError> {
        let mut notices = self.handle.subscribe_notices();
        loop {
            let over = |state: &State| state.builds().all(|build| build.state.has_ended());
            if self.handle.read_state(over).await? {
                return Ok(());
            }
            person.note_open_questions(&self.handle).await?;
            tokio::select! {
                biased;
                _ = notices.recv() => {}
                question = person.wait_for_due_question() => person.answer_question(question, PROJECT, &self.handle, store).await?,
            }
        }
    }

    /// Kills the loop like `kill -9`: everything that is not durable is lost.
    async fn kill(self) {
        self.running.abort();
        let _ = self.running.await;
    }
}

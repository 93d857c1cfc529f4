//! Simpler supervisors in the same scenarios: loops that repeat a failed task. They know no types, so all
//! failures are the same to them; no ledger, so a repeated task repeats its actions; and no questions, so
//! they give up where a person is needed. They know which tasks are done, also after they were killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::measure::ScenarioMeasurement;
use super::scenario::{Scenario, ScenarioTask};
use super::site::{RESTART, ScenarioSite, SiteActionReply, SiteAgentCall};

/// Number of times an agent tries a failing command itself.
const COMMAND_TRIES: u32 = 3;

/// A retry strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLoop {
    /// The delay before a retry.
    pub wait: Duration,
    /// Maximum number of tries of a task.
    pub tries: u32,
    /// Number of consecutive failures, of any tasks, at which everything stops.
    pub in_a_row: Option<u32>,
}

impl RetryLoop {
    /// Immediate retry, ten tries.
    pub const RETRY: Self = Self { wait: Duration::ZERO, tries: 10, in_a_row: None };
    /// Retry after half a minute, ten tries.
    pub const BACKOFF: Self = Self { wait: Duration::from_secs(30), tries: 10, in_a_row: None };
    /// Immediate retry until three consecutive failures. Successes in between reset the count; a task gets at
    /// most a hundred tries.
    pub const COUNTING: Self = Self { wait: Duration::ZERO, tries: 100, in_a_row: Some(3) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopTaskState {
    Open,
    Done,
    GivenUp,
}

/// The state shared by all tasks of a loop.
struct RetryLoopState {
    site: ScenarioSite,
    how: RetryLoop,
    standings: watch::Sender<BTreeMap<String, LoopTaskState>>,
    failures: Mutex<u32>,
    places: Semaphore,
}

/// Plays a scenario to its end. The runtime's time must be paused and advance automatically. `draw` decides
/// the approaches of an agent that is not told what failed.
pub async fn play_scenario(
    scenario: &Arc<Scenario>,
    how: RetryLoop,
    draw: u64,
) -> ScenarioMeasurement {
    let open = scenario.tasks.iter().map(|task| (task.name.clone(), LoopTaskState::Open)).collect();
    let shared = Arc::new(RetryLoopState {
        site: ScenarioSite::new(Arc::clone(scenario), draw),
        how,
        standings: watch::Sender::new(open),
        failures: Mutex::new(0),
        places: Semaphore::new(usize::try_from(scenario.slot_count()).unwrap_or(usize::MAX)),
    });
    loop {
        let mut working = JoinSet::new();
        for task in
            scenario.tasks.iter().filter(|task| shared.is_in_state(&task.name, LoopTaskState::Open))
        {
            let shared = Arc::clone(&shared);
            let task = task.clone();
            working.spawn(async move { shared.work_on_task(&task).await });
        }
        tokio::select! {
            biased;
            () = shared.site.wait_until_killed() => {
                working.shutdown().await;
                tokio::time::sleep(RESTART).await;
            }
            () = async { while working.join_next().await.is_some() {} } => break,
        }
    }
    let standings = shared.standings.borrow();
    let done = standings.iter().filter(|(_, standing)| **standing == LoopTaskState::Done);
    ScenarioMeasurement {
        done: done.map(|(name, _)| name.clone()).collect(),
        calls: shared.site.call_count(),
        effects: shared.site.effect_counts(),
        seconds: shared.site.elapsed().as_secs(),
        ..ScenarioMeasurement::default()
    }
}

impl RetryLoopState {
    fn is_in_state(&self, task: &str, standing: LoopTaskState) -> bool {
        self.standings.borrow().get(task) == Some(&standing)
    }

    async fn work_on_task(&self, task: &ScenarioTask) {
        let standing = if self.needs_are_done(task).await {
            self.try_task(task).await
        } else {
            LoopTaskState::GivenUp
        };
        self.standings.send_modify(|standings| {
            standings.insert(task.name.clone(), standing);
        });
    }

    async fn needs_are_done(&self, task: &ScenarioTask) -> bool {
        let all = |standings: &BTreeMap<String, LoopTaskState>,
                   wanted: fn(LoopTaskState) -> bool| {
            task.needs.iter().all(|need| standings.get(need).copied().is_some_and(wanted))
        };
        let mut standings = self.standings.subscribe();
        let known =
            standings.wait_for(|now| all(now, |standing| standing != LoopTaskState::Open)).await;
        known.is_ok_and(|now| all(&now, |standing| standing == LoopTaskState::Done))
    }

    async fn try_task(&self, task: &ScenarioTask) -> LoopTaskState {
        let Ok(_place) = self.places.acquire().await else { return LoopTaskState::GivenUp };
        for number in 0..self.how.tries {
            if self.has_stopped() {
                break;
            }
            if number > 0 {
                tokio::time::sleep(self.how.wait).await;
            }
            let done = self.attempt_task(task).await;
            self.count_result(done);
            if done {
                return LoopTaskState::Done;
            }
        }
        LoopTaskState::GivenUp
    }

    /// Performs the whole task from its beginning; returns whether it was done.
    async fn attempt_task(&self, task: &ScenarioTask) -> bool {
        let site = &self.site;
        let name = task.name.as_str();
        if site.call_agent(name, SiteAgentCall::default()).await.is_err()
            || !self.run_commands(name).await
        {
            return false;
        }
        if site.check_work(name).await.is_err() || site.commit_work(name).await.is_err() {
            return false;
        }
        for action in &task.actions {
            if !matches!(site.perform_action(name, action).await, SiteActionReply::Applied) {
                return false;
            }
        }
        true
    }

    async fn run_commands(&self, task: &str) -> bool {
        if !self.site.runs_commands(task) {
            return true;
        }
        for _ in 0..COMMAND_TRIES {
            if self.site.run_command(task).await.is_ok() {
                return true;
            }
        }
        false
    }

    fn count_result(&self, done: bool) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures = if done { 0 } else { *failures + 1 };
    }

    fn has_stopped(&self) -> bool {
        let failures = *self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        self.how.in_a_row.is_some_and(|most| failures >= most)
    }
}

//! The site of a scenario's work. It knows the failures and what ends them; it is independent of the
//! supervisor, and the same for all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::fault::{Category, Code, Fault};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

use super::scenario::{KillMoment, Scenario, ScenarioAction};
use super::trouble::{ScenarioTrouble, TroubleEnd, TroublePlace};
use crate::chance::Chance;

/// Duration of a model call; the durations of other operations follow.
pub(super) const CALL: Duration = Duration::from_mins(1);
/// Duration of a call that is refused immediately.
const REFUSED: Duration = Duration::from_secs(1);
const COMMAND: Duration = Duration::from_secs(5);
const CHECK: Duration = Duration::from_secs(10);
const COMMIT: Duration = Duration::from_secs(1);
const ACTION: Duration = Duration::from_secs(2);
const LOOK_UP: Duration = Duration::from_secs(1);
/// Time from a question to its answer.
pub(super) const ANSWER: Duration = Duration::from_mins(10);
/// Time from a kill to the next start.
pub(super) const RESTART: Duration = Duration::from_secs(30);
/// A Tuesday evening; the next day begins 6,400 seconds later.
pub(super) const START: Time = Time::from_millis(1_700_000_000_000);

/// The world of a scenario under a supervisor.
pub struct ScenarioSite {
    scenario: Arc<Scenario>,
    /// The seed for the approaches of an agent that is not told what failed.
    draw: u64,
    began: Instant,
    book: Mutex<SiteRecord>,
    /// Notified when the supervisor is killed.
    killed: Notify,
}

#[derive(Default)]
struct SiteRecord {
    calls: u32,
    tasks: BTreeMap<String, SiteAgentProgress>,
    /// The occurrences of failures, by task and position.
    met: BTreeMap<(String, usize), TroubleOccurrences>,
    /// The times at which each action takes effect.
    effects: BTreeMap<(String, String), Vec<Instant>>,
    /// Number of times the place of each kill was passed.
    passed: BTreeMap<usize, u32>,
}

#[derive(Default)]
struct SiteAgentProgress {
    started: u32,
    ended: u32,
    approach: String,
    compacted: bool,
}

#[derive(Default)]
struct TroubleOccurrences {
    times: u32,
    first: Option<Instant>,
    helped: bool,
}

/// The way an agent is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct SiteAgentCall {
    /// `true` if it is told what failed before.
    pub told: bool,
    /// `true` if it continues its conversation.
    pub goes_on: bool,
    /// `true` if that conversation is compacted first.
    pub compacted: bool,
}

/// The failure of an agent's work.
#[derive(Clone, Debug)]
pub struct SiteAgentFailure {
    /// The fault.
    pub fault: Fault,
    /// The approach so far, if there was one.
    pub approach: Option<Approach>,
}

/// The result of an action's call.
#[derive(Clone, Debug)]
pub enum SiteActionReply {
    /// The action happened, and the reply arrived.
    Applied,
    /// The action did not happen, and the reply arrived.
    Refused(Fault),
    /// The reply was lost.
    Lost(Fault),
}

impl ScenarioSite {
    /// Creates a site where nothing has happened.
    pub fn new(scenario: Arc<Scenario>, draw: u64) -> Self {
        let began = Instant::now();
        let book = Mutex::default();
        Self { scenario, draw, began, book, killed: Notify::new() }
    }

    /// Returns the scenario of the site.
    pub const fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// Returns the current time of the site.
    pub fn now(&self) -> Time {
        let passed = Instant::now().duration_since(self.began).as_millis();
        START + Span::from_millis(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(self.began)
    }

    /// Returns when the supervisor is killed.
    pub async fn wait_until_killed(&self) {
        self.killed.notified().await;
    }

    /// Returns the number of model calls.
    pub fn call_count(&self) -> u32 {
        self.lock_record().calls
    }

    /// Returns the number of times each action took effect, by `task.key`.
    pub fn effect_counts(&self) -> BTreeMap<String, u32> {
        let count = |times: &Vec<Instant>| u32::try_from(times.len()).unwrap_or(u32::MAX);
        let book = self.lock_record();
        let named = book.effects.iter();
        named.map(|((task, key), times)| (format!("{task}.{key}"), count(times))).collect()
    }

    /// Lets the agent work on a task. The call counts as soon as it is made.
    pub async fn call_agent(
        &self,
        task: &str,
        how: SiteAgentCall,
    ) -> Result<Approach, SiteAgentFailure> {
        let refused = |fault| SiteAgentFailure { fault, approach: None };
        self.take_step(task, &TroublePlace::Prepare, Duration::ZERO).await.map_err(refused)?;
        self.begin_call(task, how);
        if self.is_killed(task, &TroublePlace::Call, KillMoment::Begun) {
            sleep(CALL / 2).await;
            self.kill_supervisor().await;
        }
        let trouble = self.current_trouble(task, &TroublePlace::Call);
        let at_the_door = trouble.as_ref().is_some_and(|(_, trouble)| is_refused(trouble));
        sleep(if at_the_door { REFUSED } else { CALL }).await;
        if at_the_door && let Some((at, trouble)) = trouble {
            return Err(refused(self.record_trouble(task, at, &trouble)));
        }
        let approach = self.end_call(task);
        self.kill_if(task, &TroublePlace::Call, KillMoment::Ended).await;
        match trouble {
            Some((at, trouble)) => Err(SiteAgentFailure {
                fault: self.record_trouble(task, at, &trouble),
                approach: Some(approach),
            }),
            None => Ok(approach),
        }
    }

    /// Returns whether the agent of a task runs a command that may fail.
    pub fn runs_commands(&self, task: &str) -> bool {
        let troubles = self.scenario.find_task(task).map_or(&[][..], |task| &task.troubles);
        troubles.iter().any(|trouble| trouble.at == TroublePlace::Command)
    }

    /// Runs the agent's command.
    pub async fn run_command(&self, task: &str) -> Result<(), Fault> {
        self.take_step(task, &TroublePlace::Command, COMMAND).await
    }

    /// Checks the agent's work.
    pub async fn check_work(&self, task: &str) -> Result<(), Fault> {
        self.take_step(task, &TroublePlace::Check, CHECK).await
    }

    /// Commits the checked work.
    pub async fn commit_work(&self, task: &str) -> Result<(), Fault> {
        self.take_step(task, &TroublePlace::Commit, COMMIT).await
    }

    /// Reverts a change that was not allowed.
    pub async fn take_back(&self, task: &str) -> Result<(), Fault> {
        self.take_step(task, &TroublePlace::TakeBack, COMMIT).await
    }

    /// Performs an action.
    pub async fn perform_action(&self, task: &str, action: &ScenarioAction) -> SiteActionReply {
        let place = TroublePlace::Act(action.key.clone());
        self.kill_if(task, &place, KillMoment::Begun).await;
        let trouble = self.current_trouble(task, &place);
        sleep(ACTION).await;
        let Some((at, trouble)) = trouble else {
            self.take_effect(task, action, Duration::ZERO);
            self.kill_if(task, &place, KillMoment::Ended).await;
            return SiteActionReply::Applied;
        };
        if trouble.happened {
            self.take_effect(task, action, Duration::from_secs(trouble.appears_after_seconds));
        }
        let fault = self.record_trouble(task, at, &trouble);
        if trouble.reply_lost {
            SiteActionReply::Lost(fault)
        } else {
            SiteActionReply::Refused(fault)
        }
    }

    /// Looks up whether an action has visibly happened.
    pub async fn probe_action(&self, task: &str, key: &str) -> Result<bool, Fault> {
        self.take_step(task, &TroublePlace::LookUp(key.to_owned()), LOOK_UP).await?;
        Ok(self.has_happened(task, key))
    }

    /// Returns whether an action has visibly happened, for a person who looks.
    pub fn has_happened(&self, task: &str, key: &str) -> bool {
        let now = Instant::now();
        let name = (task.to_owned(), key.to_owned());
        self.lock_record().effects.get(&name).is_some_and(|times| times.iter().any(|at| *at <= now))
    }

    /// Records that a person decided about an error of a task, and acted on it.
    pub fn record_decision(&self, task: &str, code: Code, decision: Decision) {
        let Some(known) = self.scenario.find_task(task) else { return };
        for (at, trouble) in known.troubles.iter().enumerate() {
            if trouble.code == code && trouble.ends == TroubleEnd::Person(decision) {
                self.lock_record().met.entry((task.to_owned(), at)).or_default().helped = true;
            }
        }
    }

    /// Returns the decision that a person would take about an error of a task.
    pub fn find_decision(&self, task: &str, code: Code) -> Option<Decision> {
        let known = self.scenario.find_task(task)?;
        known.troubles.iter().filter(|trouble| trouble.code == code).find_map(|trouble| {
            match trouble.ends {
                TroubleEnd::Person(decision) => Some(decision),
                _ => None,
            }
        })
    }

    async fn take_step(
        &self,
        task: &str,
        place: &TroublePlace,
        takes: Duration,
    ) -> Result<(), Fault> {
        self.kill_if(task, place, KillMoment::Begun).await;
        let trouble = self.current_trouble(task, place);
        sleep(takes).await;
        if let Some((at, trouble)) = trouble {
            return Err(self.record_trouble(task, at, &trouble));
        }
        self.kill_if(task, place, KillMoment::Ended).await;
        Ok(())
    }

    fn begin_call(&self, task: &str, how: SiteAgentCall) {
        let takes = self.scenario.find_task(task).map_or(&[][..], |task| &task.takes);
        let mut book = self.lock_record();
        book.calls += 1;
        let pace = book.tasks.entry(task.to_owned()).or_default();
        pace.compacted |= how.compacted;
        if how.goes_on && !pace.approach.is_empty() {
            return;
        }
        let number = match (pace.started, how.told) {
            (0, _) => 0,
            (_, true) => pace.ended,
            (started, false) => self.draw_approach(task, started, takes.len()),
        };
        let last = takes.len().saturating_sub(1);
        let index = usize::try_from(number).unwrap_or(last).min(last);
        let named = takes.get(index).cloned();
        pace.approach = named.unwrap_or_else(|| format!("approach {number}"));
    }

    /// Draws the approach of an agent that does not know what failed.
    fn draw_approach(&self, task: &str, started: u32, many: usize) -> u32 {
        match u64::try_from(many) {
            Ok(many @ 1..) => {
                let names = [self.scenario.name.as_str(), task];
                let drawn =
                    Chance::for_place(self.draw, &names, u64::from(started)).draw_below(many);
                u32::try_from(drawn).unwrap_or(0)
            }
            _ => started,
        }
    }

    fn end_call(&self, task: &str) -> Approach {
        let mut book = self.lock_record();
        let pace = book.tasks.entry(task.to_owned()).or_default();
        pace.started += 1;
        pace.ended += 1;
        let digest = Some(Digest(Chance::for_place(0, &[&pace.approach], 0).draw_below(u64::MAX)));
        let summary = pace.approach.clone();
        Approach { digest, summary, files_changed: 1, ..Approach::default() }
    }

    /// Returns the failure that occurs at a place now.
    fn current_trouble(
        &self,
        task: &str,
        place: &TroublePlace,
    ) -> Option<(usize, ScenarioTrouble)> {
        let known = self.scenario.find_task(task)?;
        let book = self.lock_record();
        let here = known.troubles.iter().enumerate().filter(|(_, trouble)| trouble.at == *place);
        let mut open = here.filter(|(at, trouble)| !book.is_over(task, *at, trouble));
        open.next().map(|(at, trouble)| (at, trouble.clone()))
    }

    fn record_trouble(&self, task: &str, at: usize, trouble: &ScenarioTrouble) -> Fault {
        let mut book = self.lock_record();
        let met = book.met.entry((task.to_owned(), at)).or_default();
        met.times += 1;
        met.first.get_or_insert_with(Instant::now);
        drop(book);
        trouble.to_fault(self.now())
    }

    fn take_effect(&self, task: &str, action: &ScenarioAction, after: Duration) {
        let mut book = self.lock_record();
        let times = book.effects.entry((task.to_owned(), action.key.clone())).or_default();
        // The remote side recognizes a repeated call itself.
        if times.is_empty() || !action.idempotent {
            times.push(Instant::now() + after);
        }
    }

    async fn kill_if(&self, task: &str, place: &TroublePlace, when: KillMoment) {
        if self.is_killed(task, place, when) {
            self.kill_supervisor().await;
        }
    }

    fn is_killed(&self, task: &str, place: &TroublePlace, when: KillMoment) -> bool {
        let mut killed = false;
        for (at, kill) in self.scenario.kills.iter().enumerate() {
            if kill.task == task && kill.at == *place && kill.when == when {
                let mut book = self.lock_record();
                let passed = book.passed.entry(at).or_default();
                *passed += 1;
                killed |= *passed == kill.nth;
            }
        }
        killed
    }

    /// Kills the supervisor. The calling operation dies with it.
    async fn kill_supervisor(&self) {
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }

    fn lock_record(&self) -> MutexGuard<'_, SiteRecord> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SiteRecord {
    fn is_over(&self, task: &str, at: usize, trouble: &ScenarioTrouble) -> bool {
        let met = self.met.get(&(task.to_owned(), at));
        let pace = self.tasks.get(task);
        match &trouble.ends {
            TroubleEnd::Times(times) => met.is_some_and(|met| met.times >= *times),
            TroubleEnd::Seconds(seconds) => met
                .and_then(|met| met.first)
                .is_some_and(|first| Instant::now() >= first + Duration::from_secs(*seconds)),
            TroubleEnd::Approach(right) => pace.is_some_and(|pace| pace.approach == *right),
            TroubleEnd::Compacted => pace.is_some_and(|pace| pace.compacted),
            TroubleEnd::Person(_) => met.is_some_and(|met| met.helped),
            TroubleEnd::Never => false,
        }
    }
}

/// Returns whether a call is refused immediately; otherwise the agent works first.
fn is_refused(trouble: &ScenarioTrouble) -> bool {
    let works = matches!(trouble.ends, TroubleEnd::Approach(_));
    !works && trouble.code.row().category != Category::Timeout
}

//! The place where the work of a scenario happens. It knows what goes wrong and what makes it end; it
//! knows nothing of who supervises, and it is the same for all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::fault::{Category, Code, Fault};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

use super::scenario::{Action, Scenario, When};
use super::trouble::{Ends, Place, Trouble};
use crate::chance::Chance;

/// How long things take here.
pub(super) const CALL: Duration = Duration::from_mins(1);
/// A call that is turned away at the door.
const REFUSED: Duration = Duration::from_secs(1);
const COMMAND: Duration = Duration::from_secs(5);
const CHECK: Duration = Duration::from_secs(10);
const COMMIT: Duration = Duration::from_secs(1);
const ACTION: Duration = Duration::from_secs(2);
const LOOK_UP: Duration = Duration::from_secs(1);
/// From a question to its answer.
pub(super) const ANSWER: Duration = Duration::from_mins(10);
/// From a kill to the next start.
pub(super) const RESTART: Duration = Duration::from_secs(30);
/// A Tuesday evening; the next day begins 6,400 seconds later.
pub(super) const START: Time = Time::from_millis(1_700_000_000_000);

/// The world of one scenario under one supervisor.
pub struct Site {
    scenario: Arc<Scenario>,
    /// What comes to the mind of an agent that is not told what failed.
    draw: u64,
    began: Instant,
    book: Mutex<Book>,
    /// The supervisor is killed now.
    killed: Notify,
}

/// What has happened so far.
#[derive(Default)]
struct Book {
    calls: u32,
    tasks: BTreeMap<String, Pace>,
    /// By task and position.
    met: BTreeMap<(String, usize), Met>,
    /// When each action takes effect, as often as it does.
    effects: BTreeMap<(String, String), Vec<Instant>>,
    /// How often the place of each kill was passed.
    passed: BTreeMap<usize, u32>,
}

/// How far the agents of a task have come.
#[derive(Default)]
struct Pace {
    started: u32,
    ended: u32,
    approach: String,
    compacted: bool,
}

#[derive(Default)]
struct Met {
    times: u32,
    first: Option<Instant>,
    helped: bool,
}

/// How an agent is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// It is told what failed before.
    pub told: bool,
    /// It goes on with the conversation it was in.
    pub goes_on: bool,
    /// That conversation is shortened first.
    pub compacted: bool,
}

/// An agent's work failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// How.
    pub fault: Fault,
    /// What it had done, where it came so far.
    pub approach: Option<Approach>,
}

/// What became of an action's call.
#[derive(Clone, Debug)]
pub enum Acted {
    /// It happened, and we know.
    Applied,
    /// It did not happen, and we know.
    Refused(Fault),
    /// The reply was lost.
    Lost(Fault),
}

impl Site {
    /// A place where nothing has happened.
    pub fn new(scenario: Arc<Scenario>, draw: u64) -> Self {
        let (began, book) = (Instant::now(), Mutex::default());
        Self { scenario, draw, began, book, killed: Notify::new() }
    }

    /// Whose world it is.
    pub const fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// What time it is here.
    pub fn now(&self) -> Time {
        let passed = Instant::now().duration_since(self.began).as_millis();
        START + Span::from_millis(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// How long it has been.
    pub fn passed(&self) -> Duration {
        Instant::now().duration_since(self.began)
    }

    /// Returns when the supervisor is killed.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    /// How often a model was called.
    pub fn calls(&self) -> u32 {
        self.book().calls
    }

    /// How often each action took effect, by `task.key`.
    pub fn effects(&self) -> BTreeMap<String, u32> {
        let count = |times: &Vec<Instant>| u32::try_from(times.len()).unwrap_or(u32::MAX);
        let book = self.book();
        let named = book.effects.iter();
        named.map(|((task, key), times)| (format!("{task}.{key}"), count(times))).collect()
    }

    /// The agent works on a task. The call counts as soon as it is made.
    pub async fn call(&self, task: &str, how: How) -> Result<Approach, Failed> {
        let refused = |fault| Failed { fault, approach: None };
        self.step(task, &Place::Prepare, Duration::ZERO).await.map_err(refused)?;
        self.begin_call(task, how);
        if self.is_killed(task, &Place::Call, When::Begun) {
            sleep(CALL / 2).await;
            self.kill().await;
        }
        let trouble = self.trouble(task, &Place::Call);
        let at_the_door = trouble.as_ref().is_some_and(|(_, trouble)| is_refused(trouble));
        sleep(if at_the_door { REFUSED } else { CALL }).await;
        if at_the_door && let Some((at, trouble)) = trouble {
            return Err(refused(self.meet(task, at, &trouble)));
        }
        let approach = self.end_call(task);
        self.kill_if(task, &Place::Call, When::Ended).await;
        match trouble {
            Some((at, trouble)) => {
                Err(Failed { fault: self.meet(task, at, &trouble), approach: Some(approach) })
            }
            None => Ok(approach),
        }
    }

    /// Whether the agent of a task runs a command that may fail.
    pub fn runs_commands(&self, task: &str) -> bool {
        let troubles = self.scenario.task(task).map_or(&[][..], |task| &task.troubles);
        troubles.iter().any(|trouble| trouble.at == Place::Command)
    }

    /// The agent runs its command.
    pub async fn command(&self, task: &str) -> Result<(), Fault> {
        self.step(task, &Place::Command, COMMAND).await
    }

    /// What the agent left is checked.
    pub async fn check(&self, task: &str) -> Result<(), Fault> {
        self.step(task, &Place::Check, CHECK).await
    }

    /// What was checked is committed.
    pub async fn commit(&self, task: &str) -> Result<(), Fault> {
        self.step(task, &Place::Commit, COMMIT).await
    }

    /// What was not allowed is taken back.
    pub async fn take_back(&self, task: &str) -> Result<(), Fault> {
        self.step(task, &Place::TakeBack, COMMIT).await
    }

    /// An action is performed.
    pub async fn act(&self, task: &str, action: &Action) -> Acted {
        let place = Place::Act(action.key.clone());
        self.kill_if(task, &place, When::Begun).await;
        let trouble = self.trouble(task, &place);
        sleep(ACTION).await;
        let Some((at, trouble)) = trouble else {
            self.take_effect(task, action, Duration::ZERO);
            self.kill_if(task, &place, When::Ended).await;
            return Acted::Applied;
        };
        if trouble.happened {
            self.take_effect(task, action, Duration::from_secs(trouble.appears_after_seconds));
        }
        let fault = self.meet(task, at, &trouble);
        if trouble.reply_lost { Acted::Lost(fault) } else { Acted::Refused(fault) }
    }

    /// Whether an action can be seen to have happened.
    pub async fn look_up(&self, task: &str, key: &str) -> Result<bool, Fault> {
        self.step(task, &Place::LookUp(key.to_owned()), LOOK_UP).await?;
        Ok(self.has_happened(task, key))
    }

    /// Whether an action can be seen to have happened, by a person who looks.
    pub fn has_happened(&self, task: &str, key: &str) -> bool {
        let (now, name) = (Instant::now(), (task.to_owned(), key.to_owned()));
        self.book().effects.get(&name).is_some_and(|times| times.iter().any(|at| *at <= now))
    }

    /// A person decided about an error of a task, and acted on it.
    pub fn decided(&self, task: &str, code: Code, decision: Decision) {
        let Some(known) = self.scenario.task(task) else { return };
        for (at, trouble) in known.troubles.iter().enumerate() {
            if trouble.code == code && trouble.ends == Ends::Person(decision) {
                self.book().met.entry((task.to_owned(), at)).or_default().helped = true;
            }
        }
    }

    /// What a person would decide about an error of a task.
    pub fn decision(&self, task: &str, code: Code) -> Option<Decision> {
        let known = self.scenario.task(task)?;
        known.troubles.iter().filter(|trouble| trouble.code == code).find_map(|trouble| {
            match trouble.ends {
                Ends::Person(decision) => Some(decision),
                _ => None,
            }
        })
    }

    async fn step(&self, task: &str, place: &Place, takes: Duration) -> Result<(), Fault> {
        self.kill_if(task, place, When::Begun).await;
        let trouble = self.trouble(task, place);
        sleep(takes).await;
        if let Some((at, trouble)) = trouble {
            return Err(self.meet(task, at, &trouble));
        }
        self.kill_if(task, place, When::Ended).await;
        Ok(())
    }

    fn begin_call(&self, task: &str, how: How) {
        let takes = self.scenario.task(task).map_or(&[][..], |task| &task.takes);
        let mut book = self.book();
        book.calls += 1;
        let pace = book.tasks.entry(task.to_owned()).or_default();
        pace.compacted |= how.compacted;
        if how.goes_on && !pace.approach.is_empty() {
            return;
        }
        let number = match (pace.started, how.told) {
            (0, _) => 0,
            (_, true) => pace.ended,
            (started, false) => self.drawn(task, started, takes.len()),
        };
        let last = takes.len().saturating_sub(1);
        let index = usize::try_from(number).unwrap_or(last).min(last);
        let named = takes.get(index).cloned();
        pace.approach = named.unwrap_or_else(|| format!("approach {number}"));
    }

    /// An agent that does not know what failed takes any approach that comes to its mind.
    fn drawn(&self, task: &str, started: u32, many: usize) -> u32 {
        match u64::try_from(many) {
            Ok(many @ 1..) => {
                let names = [self.scenario.name.as_str(), task];
                let drawn = Chance::at(self.draw, &names, u64::from(started)).below(many);
                u32::try_from(drawn).unwrap_or(0)
            }
            _ => started,
        }
    }

    fn end_call(&self, task: &str) -> Approach {
        let mut book = self.book();
        let pace = book.tasks.entry(task.to_owned()).or_default();
        pace.started += 1;
        pace.ended += 1;
        let digest = Some(Digest(Chance::at(0, &[&pace.approach], 0).below(u64::MAX)));
        let summary = pace.approach.clone();
        Approach { digest, summary, files_changed: 1, ..Approach::default() }
    }

    /// What goes wrong there now.
    fn trouble(&self, task: &str, place: &Place) -> Option<(usize, Trouble)> {
        let known = self.scenario.task(task)?;
        let book = self.book();
        let here = known.troubles.iter().enumerate().filter(|(_, trouble)| trouble.at == *place);
        let mut open = here.filter(|(at, trouble)| !book.is_over(task, *at, trouble));
        open.next().map(|(at, trouble)| (at, trouble.clone()))
    }

    fn meet(&self, task: &str, at: usize, trouble: &Trouble) -> Fault {
        let mut book = self.book();
        let met = book.met.entry((task.to_owned(), at)).or_default();
        met.times += 1;
        met.first.get_or_insert_with(Instant::now);
        drop(book);
        trouble.fault(self.now())
    }

    fn take_effect(&self, task: &str, action: &Action, after: Duration) {
        let mut book = self.book();
        let times = book.effects.entry((task.to_owned(), action.key.clone())).or_default();
        // The other side recognises a repeated call by itself.
        if times.is_empty() || !action.idempotent {
            times.push(Instant::now() + after);
        }
    }

    async fn kill_if(&self, task: &str, place: &Place, when: When) {
        if self.is_killed(task, place, when) {
            self.kill().await;
        }
    }

    fn is_killed(&self, task: &str, place: &Place, when: When) -> bool {
        let mut killed = false;
        for (at, kill) in self.scenario.kills.iter().enumerate() {
            if kill.task == task && kill.at == *place && kill.when == when {
                let mut book = self.book();
                let passed = book.passed.entry(at).or_default();
                *passed += 1;
                killed |= *passed == kill.nth;
            }
        }
        killed
    }

    /// Whoever does this here dies with the supervisor.
    async fn kill(&self) {
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn is_over(&self, task: &str, at: usize, trouble: &Trouble) -> bool {
        let met = self.met.get(&(task.to_owned(), at));
        let pace = self.tasks.get(task);
        match &trouble.ends {
            Ends::Times(times) => met.is_some_and(|met| met.times >= *times),
            Ends::Seconds(seconds) => met
                .and_then(|met| met.first)
                .is_some_and(|first| Instant::now() >= first + Duration::from_secs(*seconds)),
            Ends::Approach(right) => pace.is_some_and(|pace| pace.approach == *right),
            Ends::Compacted => pace.is_some_and(|pace| pace.compacted),
            Ends::Person(_) => met.is_some_and(|met| met.helped),
            Ends::Never => false,
        }
    }
}

/// Whether a call is turned away at the door; otherwise the agent works first.
fn is_refused(trouble: &Trouble) -> bool {
    let works = matches!(trouble.ends, Ends::Approach(_));
    !works && trouble.code.row().category != Category::Timeout
}

//! A model of the runner: memory ahead of disk, effects only after the durable acknowledgement, and a process
//! that may die between any two steps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use unstuck_core::engine::{
    Command, Effect, EffectId, Recorded, Rejected, Rng, State, TaskId, Work, decide, effects,
};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

use crate::check::{self, Kept, Monitor, Violation};
use crate::elsewhere::{ends, is_elsewhere};
pub use crate::moves::{Move, Running, Stats};
use crate::profile::Profile;
use crate::world::{self, World};

const PROJECT: &str = "sim";
/// Number of steps between two thorough checks, which include hidden parts and serialized forms.
const THOROUGH_EVERY: u64 = 64;

/// A decision on its way to the disk.
#[derive(Clone, Debug)]
struct Batch {
    end: usize,
    effects: Vec<Effect>,
    /// The reported effect: kept until the acknowledgement and reported again without it.
    kept: Option<Running>,
    /// `true` for the first decision after a start, which must not get lost.
    recovers: bool,
}

/// A simulation.
#[derive(Clone)]
pub struct Sim {
    /// The parameters of the world.
    pub profile: Arc<Profile>,
    /// The engine's state in memory.
    pub state: State,
    /// The same state, built by applying events.
    shadow: State,
    /// The state that a restart would find.
    disk: State,
    /// All decided events.
    pub journal: Vec<Recorded>,
    durable: usize,
    batches: VecDeque<Batch>,
    /// The effects that the outside is performing.
    pub running: BTreeMap<EffectId, Running>,
    /// Results from before a crash.
    pub stale: Vec<Command>,
    /// The current time.
    pub now: Time,
    /// The simulated world.
    pub world: World,
    monitor: Monitor,
    disk_monitor: Monitor,
    /// The statistics so far.
    pub stats: Stats,
    /// Number of builds and jobs started, for their names.
    pub started: u32,
}

impl Sim {
    /// Creates a project in a new world.
    pub fn new(profile: Profile) -> Self {
        let profile = Arc::new(profile);
        let state = State::new(PROJECT);
        Self {
            state: state.clone(),
            shadow: state.clone(),
            disk: state,
            journal: Vec::new(),
            durable: 0,
            batches: VecDeque::new(),
            running: BTreeMap::new(),
            stale: Vec::new(),
            now: Time::from_millis(1_700_000_000_000),
            world: World::new(Arc::clone(&profile)),
            monitor: Monitor::default(),
            disk_monitor: Monitor::default(),
            stats: Stats::default(),
            started: 0,
            profile,
        }
    }

    /// Returns whether everything decided is durable.
    pub fn is_durable(&self) -> bool {
        self.batches.is_empty()
    }

    /// Takes a step and checks the invariants.
    pub fn step(&mut self, step: &Move) -> Result<(), Violation> {
        self.stats.steps += 1;
        match step {
            Move::Ack => self.ack(),
            Move::Work(task, kind) => self.work(*task, kind)?,
            Move::Person(command) => self.person(command)?,
            Move::Stale(command) => {
                self.submit(command.clone(), None)?.ok();
            }
            Move::Wake => {
                if let Some(at) = self.state.next_wake() {
                    self.set_clock(self.now.max(at));
                }
                self.submit(Command::Wake, None)?.ok();
            }
            Move::Clock(by) => self.set_clock(moved(self.now, *by)),
            Move::Crash => self.crash()?,
            Move::LostWrite => self.lose_write()?,
        }
        if let Some((name, count)) = self.world.outside.applied_too_often() {
            return Err(Violation::new("I4", format!("{name:?} took effect {count} times")));
        }
        check::shape(&self.state, &self.profile.policy)?;
        if self.is_durable() {
            self.hear_directions();
            self.check_running()?;
        }
        if self.stats.steps.is_multiple_of(THOROUGH_EVERY) {
            check::thorough(&self.state)?;
        }
        Ok(())
    }

    fn set_clock(&mut self, now: Time) {
        self.world.outside.set_back(self.now.since(now));
        self.now = now;
        self.world.outside.tick(now);
    }

    fn person(&mut self, command: &Command) -> Result<(), Violation> {
        let said_not = match command {
            Command::Answer { question, decision: Decision::ItDidNot, .. } => {
                self.state.question(*question).and_then(check::action_of)
            }
            _ => None,
        };
        let about = said_not.and_then(|id| self.state.mutation(id)).cloned();
        let request = match command {
            Command::By { order, .. } => order.request.as_ref(),
            _ => None,
        };
        let taken = request.and_then(|request| self.state.taken(&request.key)).cloned();
        let decided = self.journal.len();
        let done = self.submit(command.clone(), None)?;
        if let (Some(taken), Some(request)) = (taken, request) {
            let same = taken.request == *request;
            if same != done.is_ok() || self.journal.len() > decided {
                let found = format!("{taken:?} came again as {command:?}: {done:?}");
                return Err(Violation::new("a request is taken once", found));
            }
        }
        if done.is_ok()
            && let Some(mutation) = about
        {
            self.world.outside.said_not(&mutation);
        }
        Ok(())
    }

    fn work(&mut self, task: TaskId, kind: &str) -> Result<(), Violation> {
        let found = self
            .running
            .values()
            .find(|running| running.effect.task == task && world::kind(running.effect.what) == kind)
            .map(|running| running.effect.id);
        let Some(running) = found.and_then(|id| self.running.remove(&id)) else { return Ok(()) };
        let effect = running.effect.clone();
        if let Some(result) = running.result.clone() {
            self.report(running, &result)?;
            return Ok(());
        }
        let Some(command) = self.world.perform(&self.state, &effect, self.now) else {
            // The task is gone in memory; its worker is told once that is durable.
            if !self.is_durable() {
                self.running.insert(effect.id, running);
            }
            return Ok(());
        };
        if ends(&command) {
            // The effect has happened; its report is a separate move.
            self.running.insert(effect.id, Running { effect, result: Some(command) });
            return Ok(());
        }
        self.report(running, &command)
    }

    /// Reports a command about an effect.
    fn report(&mut self, running: Running, command: &Command) -> Result<(), Violation> {
        let effect = running.effect.clone();
        let place = world::place(&self.state, &effect);
        let result = self.submit(command.clone(), Some(running.clone()))?;
        let owed = self.state.outstanding().iter().any(|owed| owed.id == effect.id);
        if result.is_ok() || owed {
            self.world.record(place, self.state.seq());
        } else if !self.is_durable() {
            // The reporter is told that the result is not wanted only once that is certain.
            self.running.insert(effect.id, running);
            return Ok(());
        }
        if let Command::Settle { .. } = command {
            if owed && result.is_err() {
                let why = format!("{command:?} was refused: {result:?}");
                return Err(Violation::new("results are taken", why));
            }
        } else if owed && ends(command) {
            // An external runtime whose report is refused decides again.
            self.running.insert(effect.id, Running { effect, result: None });
        } else if owed {
            self.running.insert(effect.id, running);
        }
        Ok(())
    }

    /// Submits a command to the engine and its events to the disk.
    fn submit(
        &mut self,
        command: Command,
        kept: Option<Running>,
    ) -> Result<Result<(), Rejected>, Violation> {
        let owed_before = ids(&self.state.outstanding());
        let recovers = matches!(command, Command::Recover { .. });
        let mut rng = Rng::at(PROJECT, self.state.seq());
        let decided = decide(&mut self.state, command, &self.profile.policy, self.now, &mut rng);
        let events = match decided {
            Ok(events) => events,
            Err(rejected) => {
                self.stats.rejected += 1;
                self.same_as_shadow("a refused command changes nothing")?;
                return Ok(Err(rejected));
            }
        };
        let released: Vec<Effect> =
            events.iter().flat_map(|recorded| effects(&self.state, recorded)).collect();
        check::released(&self.state, &owed_before, &released)?;
        let decided = self.journal.len();
        self.journal.extend(events);
        let events = &self.journal[decided..];
        for recorded in events {
            let seq = self.shadow.seq();
            if recorded.seq != seq + 1 {
                return Err(Violation::new("seq has no gaps", format!("{seq} {recorded:?}")));
            }
            self.stats.events += 1;
            if let unstuck_core::engine::Event::QuestionAsked { .. } = recorded.event {
                self.stats.questions += 1;
            }
            self.monitor.before(&self.shadow, recorded, &self.profile.policy)?;
            let kept = Kept::of(&self.shadow, recorded);
            self.shadow.apply(recorded);
            if let Some(kept) = kept {
                kept.holds(&self.shadow, recorded)?;
            }
        }
        self.same_as_shadow("replaying gives the same state")?;
        if self.journal.len() > decided || kept.is_some() {
            self.batches.push_back(Batch {
                end: self.journal.len(),
                effects: released,
                kept,
                recovers,
            });
        }
        Ok(Ok(()))
    }

    fn same_as_shadow(&self, rule: &'static str) -> Result<(), Violation> {
        if self.state == self.shadow {
            Ok(())
        } else {
            Err(Violation::new(rule, check::difference(&self.state, &self.shadow)))
        }
    }

    fn ack(&mut self) {
        let Some(batch) = self.batches.pop_front() else { return };
        for recorded in &self.journal[self.durable..batch.end] {
            // Violations were reported when this was decided.
            self.disk_monitor.before(&self.disk, recorded, &self.profile.policy).ok();
            self.disk.apply(recorded);
        }
        self.durable = batch.end;
        for effect in batch.effects {
            match effect.what {
                Work::Stop { effect } => {
                    self.running.remove(&effect);
                }
                _ => {
                    self.running.insert(effect.id, Running { effect, result: None });
                }
            }
        }
    }

    /// Drops everything that is only in memory.
    fn reload(&mut self) {
        self.state = self.disk.clone();
        self.shadow = self.disk.clone();
        self.monitor = self.disk_monitor.clone();
        self.journal.truncate(self.durable);
        self.world.forget_after(self.state.seq());
    }

    fn lose_write(&mut self) -> Result<(), Violation> {
        if self.batches.is_empty() {
            return Ok(());
        }
        self.stats.lost_writes += 1;
        let batches = std::mem::take(&mut self.batches);
        self.reload();
        let recovers = batches.iter().any(|batch| batch.recovers);
        for running in batches.into_iter().filter_map(|batch| batch.kept) {
            self.running.insert(running.effect.id, running);
        }
        if recovers {
            return self.recover();
        }
        Ok(())
    }

    fn crash(&mut self) -> Result<(), Violation> {
        self.stats.crashes += 1;
        let batches = std::mem::take(&mut self.batches);
        self.reload();
        let untaken = batches.into_iter().filter_map(|batch| batch.kept);
        self.running.extend(untaken.map(|running| (running.effect.id, running)));
        if self.stats.crashes.is_multiple_of(8) {
            check::written_down(&self.state, &self.journal)?;
        }
        self.recover()
    }

    fn recover(&mut self) -> Result<(), Violation> {
        let before = self.state.clone();
        let (elsewhere, ended): (Vec<Running>, Vec<Running>) = std::mem::take(&mut self.running)
            .into_values()
            .partition(|running| is_elsewhere(&before, &running.effect));
        self.stale.extend(ended.into_iter().filter_map(|running| running.result));
        self.submit(Command::Recover { task: None, clean: false }, None)?.ok();
        check::recovered(&before, &self.state)?;
        let old = before.seq();
        for effect in self.state.outstanding() {
            if effect.id.0 <= old {
                self.running.insert(effect.id, Running { effect, result: None });
            }
        }
        // Work of an external runtime survives the crash of this process.
        self.running.extend(elsewhere.into_iter().map(|running| (running.effect.id, running)));
        Ok(())
    }

    /// Removes external effects that are no longer owed: external runtimes are not told to stop, they read it
    /// in their directions.
    fn hear_directions(&mut self) {
        let Self { state, running, .. } = self;
        let owed = ids(&state.outstanding());
        running.retain(|id, running| owed.contains(id) || !is_elsewhere(state, &running.effect));
    }

    fn check_running(&self) -> Result<(), Violation> {
        let owed = ids(&self.state.outstanding());
        let running: BTreeSet<EffectId> = self.running.keys().copied().collect();
        if owed == running {
            return Ok(());
        }
        Err(Violation::new("the outside does what is owed", format!("{owed:?} {running:?}")))
    }

    /// Checks the whole journal: that it can be serialized, read and replayed.
    pub fn check_journal(&self) -> Result<(), Violation> {
        check::thorough(&self.state)?;
        check::written_down(&self.state, &self.journal)
    }
}

fn ids(effects: &[Effect]) -> BTreeSet<EffectId> {
    effects.iter().map(|effect| effect.id).collect()
}

fn moved(now: Time, by: i64) -> Time {
    let span = Span::from_millis(by.unsigned_abs());
    if by < 0 { now - span } else { now + span }
}

//! A model of the runner: memory ahead of disk, effects only after the durable acknowledgement, and a process
//! that may die between any two steps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use unstuck_core::engine::{
    Command, CommandRejection, Effect, EffectChange, EffectId, RecordedEvent, Rng, State, TaskId,
    decide, requested_effects,
};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

use crate::check::{self, EventInvariant, JournalMonitor, Violation};
pub use crate::moves::{SimulatedEffect, SimulationMove, SimulationStats};
use crate::moves::{ends_effect, is_elsewhere};
use crate::profile::WorldProfile;
use crate::world::{self, SimulatedWorld};

const PROJECT: &str = "sim";
/// Number of steps between two thorough checks, which include hidden parts and serialized forms.
const THOROUGH_EVERY: u64 = 64;

/// A decision on its way to the disk.
#[derive(Clone, Debug)]
struct UnackedBatch {
    end: usize,
    effects: Vec<EffectChange>,
    /// The reported effect: kept until the acknowledgement and reported again without it.
    kept: Option<SimulatedEffect>,
    /// `true` for the first decision after a start, which must not get lost.
    recovers: bool,
}

/// A simulation.
#[derive(Clone)]
pub struct Simulation {
    /// The parameters of the world.
    pub profile: Arc<WorldProfile>,
    /// The engine's state in memory.
    pub state: State,
    /// The same state, built by applying events.
    shadow: State,
    /// The state that a restart would find.
    disk: State,
    /// All decided events.
    pub journal: Vec<RecordedEvent>,
    durable: usize,
    batches: VecDeque<UnackedBatch>,
    /// The effects that the outside is performing.
    pub running: BTreeMap<EffectId, SimulatedEffect>,
    /// Results from before a crash.
    pub stale: Vec<Command>,
    /// The current time.
    pub now: Time,
    /// The simulated world.
    pub world: SimulatedWorld,
    monitor: JournalMonitor,
    disk_monitor: JournalMonitor,
    /// The statistics so far.
    pub stats: SimulationStats,
    /// Number of builds and jobs started, for their names.
    pub started: u32,
}

impl Simulation {
    /// Creates a project in a new world.
    pub fn new(profile: WorldProfile) -> Self {
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
            world: SimulatedWorld::new(Arc::clone(&profile)),
            monitor: JournalMonitor::default(),
            disk_monitor: JournalMonitor::default(),
            stats: SimulationStats::default(),
            started: 0,
            profile,
        }
    }

    /// Returns whether everything decided is durable.
    pub fn is_durable(&self) -> bool {
        self.batches.is_empty()
    }

    /// Takes a step and checks the invariants.
    pub fn apply_move(&mut self, step: &SimulationMove) -> Result<(), Violation> {
        self.stats.steps += 1;
        match step {
            SimulationMove::Ack => self.acknowledge_batch()?,
            SimulationMove::Work(task, kind) => self.advance_effect(*task, kind)?,
            SimulationMove::Person(command) => self.apply_person_command(command)?,
            SimulationMove::Stale(command) => {
                self.submit_command(command.clone(), None)?.ok();
            }
            SimulationMove::Wake => {
                if let Some(at) = self.state.next_wake() {
                    self.set_clock(self.now.max(at));
                }
                self.submit_command(Command::Wake, None)?.ok();
            }
            SimulationMove::Clock(by) => self.set_clock(shift_time(self.now, *by)),
            SimulationMove::Crash => self.crash_process()?,
            SimulationMove::LostWrite => self.lose_write()?,
        }
        if let Some((name, count)) = self.world.outside.applied_too_often() {
            return Err(Violation::new("I4", format!("{name:?} took effect {count} times")));
        }
        check::check_state(&self.state, &self.profile.policy)?;
        if self.is_durable() {
            self.hear_directions();
            self.check_running()?;
        }
        if self.stats.steps.is_multiple_of(THOROUGH_EVERY) {
            check::check_thoroughly(&self.state)?;
        }
        Ok(())
    }

    fn set_clock(&mut self, now: Time) {
        self.world.outside.shift_late_effects(self.now.since(now));
        self.now = now;
        self.world.outside.apply_due_effects(now);
    }

    fn apply_person_command(&mut self, command: &Command) -> Result<(), Violation> {
        let said_not = match command {
            Command::Answer { question, decision: Decision::ItDidNot, .. } => {
                self.state.question(*question).and_then(check::question_action)
            }
            _ => None,
        };
        let about = said_not.and_then(|id| self.state.mutation(id)).cloned();
        let request = match command {
            Command::By { order, .. } => order.request.as_ref(),
            _ => None,
        };
        let taken = request.and_then(|request| self.state.handled_request(&request.key)).cloned();
        let decided = self.journal.len();
        let done = self.submit_command(command.clone(), None)?;
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
            self.world.outside.record_denial(&mutation);
        }
        Ok(())
    }

    fn advance_effect(&mut self, task: TaskId, kind: &str) -> Result<(), Violation> {
        let found = self
            .running
            .values()
            .find(|running| {
                running.effect.task == task && world::work_kind(running.effect.what) == kind
            })
            .map(|running| running.effect.id);
        let Some(running) = found.and_then(|id| self.running.remove(&id)) else { return Ok(()) };
        let effect = running.effect.clone();
        if let Some(result) = running.result.clone() {
            self.report_command(running, &result)?;
            return Ok(());
        }
        let Some(command) = self.world.perform_effect(&self.state, &effect, self.now) else {
            // The task is gone in memory; its worker is told once that is durable.
            if !self.is_durable() {
                self.running.insert(effect.id, running);
            }
            return Ok(());
        };
        if ends_effect(&command) {
            // The effect has happened; its report is a separate move.
            self.running.insert(effect.id, SimulatedEffect { effect, result: Some(command) });
            return Ok(());
        }
        self.report_command(running, &command)
    }

    fn report_command(
        &mut self,
        running: SimulatedEffect,
        command: &Command,
    ) -> Result<(), Violation> {
        let effect = running.effect.clone();
        let place = world::result_key(&self.state, &effect);
        let result = self.submit_command(command.clone(), Some(running.clone()))?;
        let owed = self.state.outstanding_effects().iter().any(|owed| owed.id == effect.id);
        if result.is_ok() || owed {
            self.world.record_result(place, self.state.seq());
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
        } else if owed && ends_effect(command) {
            // An external runtime whose report is refused decides again.
            self.running.insert(effect.id, SimulatedEffect { effect, result: None });
        } else if owed {
            self.running.insert(effect.id, running);
        }
        Ok(())
    }

    /// Submits a command to the engine and its events to the disk.
    fn submit_command(
        &mut self,
        command: Command,
        kept: Option<SimulatedEffect>,
    ) -> Result<Result<(), CommandRejection>, Violation> {
        let owed_before = effect_ids(&self.state.outstanding_effects());
        let recovers = matches!(command, Command::Recover { .. });
        let mut rng = Rng::for_decision(PROJECT, self.state.seq());
        let decided = decide(&mut self.state, command, &self.profile.policy, self.now, &mut rng);
        let events = match decided {
            Ok(events) => events,
            Err(rejected) => {
                self.stats.rejected += 1;
                self.check_shadow("a refused command changes nothing")?;
                return Ok(Err(rejected));
            }
        };
        let released: Vec<EffectChange> =
            events.iter().flat_map(|recorded| requested_effects(&self.state, recorded)).collect();
        check::check_released(&self.state, &owed_before, &released)?;
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
            self.monitor.check_event(&self.shadow, recorded, &self.profile.policy)?;
            let kept = EventInvariant::capture_before(&self.shadow, recorded);
            check::apply_replayed(&mut self.shadow, recorded)?;
            if let Some(kept) = kept {
                kept.check_after(&self.shadow, recorded)?;
            }
        }
        self.check_shadow("replaying gives the same state")?;
        if self.journal.len() > decided || kept.is_some() {
            self.batches.push_back(UnackedBatch {
                end: self.journal.len(),
                effects: released,
                kept,
                recovers,
            });
        }
        Ok(Ok(()))
    }

    fn check_shadow(&self, rule: &'static str) -> Result<(), Violation> {
        if self.state == self.shadow {
            Ok(())
        } else {
            Err(Violation::new(rule, check::describe_difference(&self.state, &self.shadow)))
        }
    }

    fn acknowledge_batch(&mut self) -> Result<(), Violation> {
        let Some(batch) = self.batches.pop_front() else { return Ok(()) };
        for recorded in &self.journal[self.durable..batch.end] {
            // Violations were reported when this was decided.
            self.disk_monitor.check_event(&self.disk, recorded, &self.profile.policy).ok();
            check::apply_replayed(&mut self.disk, recorded)?;
        }
        self.durable = batch.end;
        for change in batch.effects {
            match change {
                EffectChange::Stop(effect) => {
                    self.running.remove(&effect);
                }
                EffectChange::Start(effect) => {
                    self.running.insert(effect.id, SimulatedEffect { effect, result: None });
                }
            }
        }
        Ok(())
    }

    /// Drops everything that is only in memory.
    fn reload_from_disk(&mut self) {
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
        self.reload_from_disk();
        let recovers = batches.iter().any(|batch| batch.recovers);
        for running in batches.into_iter().filter_map(|batch| batch.kept) {
            self.running.insert(running.effect.id, running);
        }
        if recovers {
            return self.recover_state();
        }
        Ok(())
    }

    fn crash_process(&mut self) -> Result<(), Violation> {
        self.stats.crashes += 1;
        let batches = std::mem::take(&mut self.batches);
        self.reload_from_disk();
        let untaken = batches.into_iter().filter_map(|batch| batch.kept);
        self.running.extend(untaken.map(|running| (running.effect.id, running)));
        if self.stats.crashes.is_multiple_of(8) {
            check::check_round_trip(&self.state, &self.journal)?;
        }
        self.recover_state()
    }

    fn recover_state(&mut self) -> Result<(), Violation> {
        let before = self.state.clone();
        let (elsewhere, ended): (Vec<SimulatedEffect>, Vec<SimulatedEffect>) =
            std::mem::take(&mut self.running)
                .into_values()
                .partition(|running| is_elsewhere(&before, &running.effect));
        self.stale.extend(ended.into_iter().filter_map(|running| running.result));
        self.submit_command(Command::Recover { task: None, clean: false }, None)?.ok();
        check::check_recovery(&before, &self.state)?;
        let old = before.seq();
        for effect in self.state.outstanding_effects() {
            if effect.id.0 <= old {
                self.running.insert(effect.id, SimulatedEffect { effect, result: None });
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
        let owed = effect_ids(&state.outstanding_effects());
        running.retain(|id, running| owed.contains(id) || !is_elsewhere(state, &running.effect));
    }

    fn check_running(&self) -> Result<(), Violation> {
        let owed = effect_ids(&self.state.outstanding_effects());
        let running: BTreeSet<EffectId> = self.running.keys().copied().collect();
        if owed == running {
            return Ok(());
        }
        Err(Violation::new("the outside does what is owed", format!("{owed:?} {running:?}")))
    }

    /// Checks the whole journal: that it can be serialized, read and replayed.
    pub fn check_journal(&self) -> Result<(), Violation> {
        check::check_thoroughly(&self.state)?;
        check::check_round_trip(&self.state, &self.journal)
    }
}

fn effect_ids(effects: &[Effect]) -> BTreeSet<EffectId> {
    effects.iter().map(|effect| effect.id).collect()
}

fn shift_time(now: Time, by: i64) -> Time {
    let span = Span::from_millis(by.unsigned_abs());
    if by < 0 { now - span } else { now + span }
}

//! A decision in progress: its inputs, and the events that it has led to.

use std::cell::Cell;
use std::sync::Arc;

use super::build::{Build, BuildState};
use super::command::CommandRejection;
use super::event::{Event, PauseCause, RecordedEvent};
use super::gate::AccountGate;
use super::ids::{BuildId, EffectId, MutationId, RunId, TaskId};
use super::invariant::BrokenInvariant;
use super::ledger::Mutation;
use super::run::{Phase, Run, Status, Step};
use super::state::{EffectWaiter, State};
use super::task::Task;
use super::why::Why;
use crate::chance::Rng;
use crate::fault::{Code, Fault, Internal};
use crate::plan::GateKey;
use crate::policy::Policy;
use crate::time::Time;

/// Returns the fault of a state that cannot be. Tests end where one is met.
pub(super) fn internal_fault(message: &'static str) -> Arc<Fault> {
    debug_assert!(false, "{message}");
    Arc::new(Fault::internal_error("engine", message, Internal::default()))
}

/// Initial capacity for events; most decisions lead to no more.
const EVENTS_USUAL: usize = 8;

/// A decision in progress.
pub(super) struct Transition<'a> {
    pub(super) state: &'a mut State,
    pub(super) policy: &'a Policy,
    pub(super) now: Time,
    pub(super) rng: &'a mut Rng,
    events: Vec<RecordedEvent>,
    /// The effect whose result is being decided about.
    settled: Option<EffectId>,
    /// The run that a fault ended in the middle of an effect, and that effect, which is still being
    /// performed.
    cut_short: Option<(RunId, EffectId)>,
    /// The first invariant that does not hold.
    broken: Cell<Option<BrokenInvariant>>,
}

impl<'a> Transition<'a> {
    pub(super) fn new(
        state: &'a mut State,
        policy: &'a Policy,
        now: Time,
        rng: &'a mut Rng,
    ) -> Self {
        let events = Vec::with_capacity(EVENTS_USUAL);
        Self {
            state,
            policy,
            now,
            rng,
            events,
            settled: None,
            cut_short: None,
            broken: Cell::new(None),
        }
    }

    /// Returns the events decided so far.
    pub(super) fn events(&self) -> &[RecordedEvent] {
        &self.events
    }

    /// Returns the decided events. The state keeps the invariant that the decision broke, if any.
    pub(super) fn into_events(self) -> Vec<RecordedEvent> {
        self.state.broken = self.state.broken.or(self.broken.get());
        self.events
    }

    /// Reports an invariant that does not hold. Tests end where one is met.
    pub(super) fn report_broken(&self, broken: BrokenInvariant) {
        debug_assert!(false, "{broken}");
        self.broken.set(self.broken.get().or(Some(broken)));
    }

    /// Returns what was looked up, and reports `broken` if there is no such thing.
    fn known<T>(&self, found: Option<T>, broken: BrokenInvariant) -> Option<T> {
        if found.is_none() {
            self.report_broken(broken);
        }
        found
    }

    /// Records and applies an event that needs no reason.
    pub(super) fn emit_event(&mut self, event: Event) {
        self.push_event(event, None);
    }

    /// Records and applies an event together with the reason for it.
    pub(super) fn emit_with_reason(&mut self, event: Event, why: Why) {
        self.push_event(event, Some(why));
    }

    fn push_event(&mut self, event: Event, why: Option<Why>) {
        if let Err(broken) = self.state.check_event(&event) {
            // A journal with this event would be refused.
            self.report_broken(broken);
            return;
        }
        let recorded = RecordedEvent { seq: self.state.seq + 1, at: self.now, why, event };
        self.state.apply_event(&recorded);
        debug_assert_eq!(self.state.broken, None, "by {:?}", recorded.event);
        self.events.push(recorded);
    }

    pub(super) fn find_task(&self, id: TaskId) -> Result<&Task, CommandRejection> {
        self.state.task(id).ok_or(CommandRejection::NoTask(id))
    }

    /// Returns the run that the decision is about, which has not ended.
    pub(super) fn known_run(&self, id: RunId) -> Option<&Run> {
        self.known(self.state.run(id), BrokenInvariant::NoRun(id))
    }

    /// Returns the task of the run that the decision is about, which has not ended.
    pub(super) fn task_of_run(&self, run: RunId) -> Option<&Task> {
        self.known_task(self.known_run(run)?.task)
    }

    /// Returns a task that the state names itself.
    pub(super) fn known_task(&self, id: TaskId) -> Option<&Task> {
        self.known(self.state.task(id), BrokenInvariant::NoTask(id))
    }

    /// Returns a build that the state names itself.
    pub(super) fn known_build(&self, id: BuildId) -> Option<&Build> {
        self.known(self.state.build(id), BrokenInvariant::NoBuild(id))
    }

    /// Returns an action that the state names itself.
    pub(super) fn known_mutation(&self, id: MutationId) -> Option<&Mutation> {
        self.known(self.state.mutation(id), BrokenInvariant::NoAction(id))
    }

    /// Returns a gate that the state names itself.
    pub(super) fn known_gate(&self, key: GateKey) -> Option<&AccountGate> {
        self.known(self.state.gate(key), BrokenInvariant::NoGate(key))
    }

    /// Returns whether an external runtime works on the run's task.
    pub(super) fn is_session_run(&self, run: RunId) -> bool {
        self.task_of_run(run).is_some_and(Task::is_session)
    }

    pub(super) fn build_state(&self, id: BuildId) -> Option<BuildState> {
        self.known_build(id).map(|build| build.state)
    }

    /// Returns whether the build is over, so that its tasks are no longer wanted.
    pub(super) fn has_build_ended(&self, id: BuildId) -> bool {
        self.build_state(id).is_some_and(BuildState::has_ended)
    }

    /// Returns whether the build is paused for this reason.
    pub(super) fn is_paused_for(&self, id: BuildId, cause: PauseCause) -> bool {
        self.build_state(id) == Some(BuildState::Paused { cause })
    }

    /// Returns the run that waits for the effect.
    pub(super) fn run_owed(&self, effect: EffectId) -> Result<&Run, CommandRejection> {
        match self.state.owed.get(&effect) {
            Some(EffectWaiter::Run(run)) => {
                self.state.run(*run).ok_or(CommandRejection::Stale(effect))
            }
            Some(EffectWaiter::Mutation(_)) => Err(CommandRejection::Misfit(effect)),
            None => Err(CommandRejection::Stale(effect)),
        }
    }

    /// Returns the run that waits for the effect, or whose action the effect performs or probes.
    pub(super) fn run_behind(&self, effect: EffectId) -> Result<&Run, CommandRejection> {
        match self.state.owed.get(&effect) {
            Some(EffectWaiter::Mutation(id)) => {
                let run = self.state.mutation(*id).and_then(|known| self.state.run(known.run));
                run.ok_or(CommandRejection::Stale(effect))
            }
            Some(EffectWaiter::Run(_)) | None => self.run_owed(effect),
        }
    }

    /// Notes that the effect has ended, so that it need not be stopped.
    pub(super) fn mark_settled(&mut self, effect: EffectId) {
        self.settled = Some(effect);
    }

    /// Notes that a fault is about to end the effect that the run waits for. An effect that is
    /// still being performed is stopped with the run.
    pub(super) fn mark_cut_short(&mut self, run: RunId) {
        let owed = self.state.run(run).and_then(|run| run.owes);
        let still_performed = owed.filter(|effect| self.settled != Some(*effect));
        self.cut_short = still_performed.map(|effect| (run, effect));
    }

    /// Returns whether a fault ended the run's effect while it is still being performed.
    pub(super) fn is_cut_short(&self, run: RunId) -> bool {
        self.cut_short.is_some_and(|(cut, _)| cut == run)
    }

    /// Returns the effect that has to be stopped when the run ends.
    fn effect_to_stop(&self, run: &Run) -> Option<EffectId> {
        let cut_short = self.cut_short.filter(|(cut, _)| *cut == run.id);
        run.owes.or(cut_short.map(|(_, effect)| effect))
    }

    /// Records that the run reached a phase. A run that is checked again keeps its phase, because
    /// phases only move forward.
    pub(super) fn reach_phase(&mut self, run: RunId, phase: Phase) {
        if self.known_run(run).is_some_and(|run| run.phase < phase) {
            self.emit_event(Event::RunPhase { run, phase });
        }
    }

    /// Ends the run; its successor, if there is one, has another id.
    pub(super) fn end_run(&mut self, run: RunId, status: Status, code: Code) {
        if let Some(stop) = self.known_run(run).map(|run| self.effect_to_stop(run)) {
            self.emit_event(Event::RunFailed { run, status, stop, code: Some(code) });
        }
    }

    /// Pauses the run, over a fault or because it is held; it can continue under its id.
    pub(super) fn pause_run(&mut self, run: RunId, status: Status, step: Step, code: Option<Code>) {
        if let Some(stop) = self.known_run(run).map(|run| self.effect_to_stop(run)) {
            self.emit_event(Event::RunPaused { run, status, step, stop, code });
        }
    }

    /// Cancels the run, because its task is skipped or its build has ended.
    pub(super) fn cancel_run(&mut self, run: RunId) {
        if let Some(stop) = self.state.run(run).map(|run| self.effect_to_stop(run)) {
            self.emit_event(Event::RunCancelled { run, stop });
        }
    }
}

//! One decision in the making: what it may look at, and the events it has led to.

use super::command::Rejected;
use super::event::{Event, Recorded};
use super::ids::{EffectId, RunId, TaskId};
use super::run::{Run, Status, Step};
use super::state::{Owner, State};
use super::task::Task;
use super::why::Why;
use crate::chance::Rng;
use crate::fault::Code;
use crate::policy::Policy;
use crate::time::Time;

/// Most decisions lead to no more events than this.
const EVENTS_USUAL: usize = 8;

/// One decision in the making.
pub(super) struct Turn<'a> {
    pub(super) state: &'a mut State,
    pub(super) policy: &'a Policy,
    pub(super) now: Time,
    pub(super) rng: &'a mut Rng,
    events: Vec<Recorded>,
    /// The effect whose end is being decided about.
    settled: Option<EffectId>,
    /// The run that a fault ended in the middle of its effect, which is still being performed.
    cut_short: Option<(RunId, EffectId)>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        state: &'a mut State,
        policy: &'a Policy,
        now: Time,
        rng: &'a mut Rng,
    ) -> Self {
        let events = Vec::with_capacity(EVENTS_USUAL);
        Self { state, policy, now, rng, events, settled: None, cut_short: None }
    }

    /// What it led to, so far.
    pub(super) fn events(&self) -> &[Recorded] {
        &self.events
    }

    /// What it led to.
    pub(super) fn into_events(self) -> Vec<Recorded> {
        self.events
    }

    /// Something happened.
    pub(super) fn emit(&mut self, event: Event) {
        self.push(event, None);
    }

    /// Something was decided, for a reason.
    pub(super) fn decide(&mut self, event: Event, why: Why) {
        self.push(event, Some(why));
    }

    fn push(&mut self, event: Event, why: Option<Why>) {
        let recorded = Recorded { seq: self.state.seq + 1, at: self.now, why, event };
        self.state.record(&recorded);
        self.events.push(recorded);
    }

    pub(super) fn task(&self, id: TaskId) -> Result<&Task, Rejected> {
        self.state.task(id).ok_or(Rejected::NoTask(id))
    }

    /// The run that an effect was asked for by.
    pub(super) fn run_owed(&self, effect: EffectId) -> Result<&Run, Rejected> {
        match self.state.owed.get(&effect) {
            Some(Owner::Run(run)) => self.state.run(*run).ok_or(Rejected::Stale(effect)),
            Some(Owner::Mutation(_)) => Err(Rejected::Misfit(effect)),
            None => Err(Rejected::Stale(effect)),
        }
    }

    /// The run that an effect was asked for by, or whose action the effect is.
    pub(super) fn run_behind(&self, effect: EffectId) -> Result<&Run, Rejected> {
        match self.state.owed.get(&effect) {
            Some(Owner::Mutation(id)) => {
                let run = self.state.mutation(*id).and_then(|known| self.state.run(known.run));
                run.ok_or(Rejected::Stale(effect))
            }
            Some(Owner::Run(_)) | None => self.run_owed(effect),
        }
    }

    /// An effect has ended: there is nothing left of it to stop.
    pub(super) fn settle(&mut self, effect: EffectId) {
        self.settled = Some(effect);
    }

    /// A fault is about to end what the run waits for. If that is still being performed, it is
    /// stopped with the run.
    pub(super) fn cut_short(&mut self, run: RunId) {
        let owed = self.state.run(run).and_then(|run| run.owes);
        let still_performed = owed.filter(|effect| self.settled != Some(*effect));
        self.cut_short = still_performed.map(|effect| (run, effect));
    }

    /// Whether a fault ended the run's effect while it is still being performed.
    pub(super) fn is_cut_short(&self, run: RunId) -> bool {
        self.cut_short.is_some_and(|(cut, _)| cut == run)
    }

    /// What has to be stopped when the run ends.
    fn to_stop(&self, run: &Run) -> Option<EffectId> {
        let cut_short = self.cut_short.filter(|(cut, _)| *cut == run.id);
        run.owes.or(cut_short.map(|(_, effect)| effect))
    }

    /// The run ends here; its successor, if there is one, has another id.
    pub(super) fn end_run(&mut self, run: RunId, status: Status, code: Code) {
        if let Some(stop) = self.state.run(run).map(|run| self.to_stop(run)) {
            self.emit(Event::RunFailed { run, status, stop, code: Some(code) });
        }
    }

    /// The run stands still, over a fault or because somebody holds it, and can go on under its id.
    pub(super) fn pause_run(&mut self, run: RunId, status: Status, step: Step, code: Option<Code>) {
        if let Some(stop) = self.state.run(run).map(|run| self.to_stop(run)) {
            self.emit(Event::RunPaused { run, status, step, stop, code });
        }
    }

    /// A person's decision ends the run.
    pub(super) fn cancel_run(&mut self, run: RunId) {
        if let Some(stop) = self.state.run(run).map(|run| self.to_stop(run)) {
            self.emit(Event::RunCancelled { run, stop });
        }
    }
}

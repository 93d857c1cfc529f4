//! Deciding: one command in, the events it leads to out.

use super::command::{Command, Rejected};
use super::event::{Event, Recorded};
use super::ids::{EffectId, RunId, TaskId};
use super::run::{Run, Status, Step};
use super::state::{Owner, State};
use super::task::Task;
use super::why::Why;
use super::{flow, on};
use crate::chance::Rng;
use crate::policy::Policy;
use crate::time::Time;

/// Decides what a command leads to and applies it to `state`.
///
/// Each event is applied as it is decided, so that what follows sees it; the events are all that
/// changed. A rejected command changes nothing.
pub fn decide(
    state: &mut State,
    command: Command,
    policy: &Policy,
    now: Time,
    rng: &mut Rng,
) -> Result<Vec<Recorded>, Rejected> {
    let mut turn = Turn { state, policy, now, rng, events: Vec::with_capacity(EVENTS_USUAL) };
    let result = on::handle(&mut turn, command);
    debug_assert!(result.is_ok() || turn.events.is_empty(), "a rejected command changed something");
    result?;
    flow::settle(&mut turn);
    Ok(turn.events)
}

/// Most decisions lead to no more events than this.
const EVENTS_USUAL: usize = 8;

/// One decision in the making.
pub(super) struct Turn<'a> {
    pub(super) state: &'a mut State,
    pub(super) policy: &'a Policy,
    pub(super) now: Time,
    pub(super) rng: &'a mut Rng,
    events: Vec<Recorded>,
}

impl Turn<'_> {
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

    /// The run ends here; its successor, if there is one, has another id.
    pub(super) fn end_run(&mut self, run: RunId, status: Status) {
        if let Some(stop) = self.state.run(run).map(|run| run.owes) {
            self.emit(Event::RunFailed { run, status, stop });
        }
    }

    /// The run stands still and can go on under its id.
    pub(super) fn pause_run(&mut self, run: RunId, status: Status, step: Step) {
        if let Some(stop) = self.state.run(run).map(|run| run.owes) {
            self.emit(Event::RunPaused { run, status, step, stop });
        }
    }

    /// A person's decision ends the run.
    pub(super) fn cancel_run(&mut self, run: RunId) {
        if let Some(stop) = self.state.run(run).map(|run| run.owes) {
            self.emit(Event::RunCancelled { run, stop });
        }
    }
}

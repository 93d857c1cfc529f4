//! Invariants from one event to the next: retries, phases, order, waits.

use std::collections::BTreeMap;

use unstuck_core::engine::{
    AccountGate, Counters, Event, GateKey, GateState, MutationState, Phase, QuestionId,
    RecordedEvent, RunId, State, Step, Subject, Task, TaskId, TaskState,
};
use unstuck_core::fault::{Class, Code, Reaction};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::signature::Signature;

use super::{Violation, require};

/// Follows a journal as it is written.
#[derive(Clone, Debug, Default)]
pub struct JournalMonitor {
    needs: BTreeMap<TaskId, Vec<TaskId>>,
    phases: BTreeMap<RunId, Phase>,
    /// Retries per error and task, since they were last given back or answered.
    tries: BTreeMap<(Signature, TaskId), u32>,
    subjects: BTreeMap<QuestionId, Subject>,
    /// Tasks that must not continue without a person or a new budget window.
    blocked: BTreeMap<TaskId, Code>,
    /// Tasks that an open gate let through and that have not begun.
    let_through: BTreeMap<TaskId, GateKey>,
    /// The project's latest day, and the amount spent on it.
    day: (u64, Amount),
}

/// The values that an event must not change.
pub enum EventInvariant {
    /// A wait charges no counter.
    Uncharged {
        /// The task that waits.
        task: TaskId,
        /// The error it waits for.
        signature: Signature,
        /// The task's counters.
        counters: Counters,
        /// The retry count of the error.
        count: u32,
    },
    /// A gate that is already closed counts no further window.
    Closed {
        /// The key of the gate.
        gate: GateKey,
        /// Number of windows waited for, and number of rate limits.
        counts: (u32, u32),
    },
}

impl JournalMonitor {
    /// Checks an event against what came before it.
    pub fn check_event(
        &mut self,
        state: &State,
        recorded: &RecordedEvent,
        policy: &Policy,
    ) -> Result<(), Violation> {
        self.check_order(state, recorded)?;
        self.check_phase(state, recorded)?;
        self.check_tries(state, recorded, policy)?;
        self.check_blocked(state, recorded)?;
        self.check_gates(state, recorded)?;
        self.check_spending(state, recorded)?;
        check_ledger(state, recorded)
    }

    /// Checks that spending adds up until the next day; a clock that is set back does not restore it.
    fn check_spending(&mut self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        let (_, spent) = self.day;
        require(state.spent_today() == spent, "a day adds up", || {
            format!("{:?} instead of {spent:?}", state.spent_today())
        })?;
        if let Event::BudgetUpdated { spent, day, .. } = &recorded.event {
            if *day > self.day.0 {
                self.day = (*day, Amount::ZERO);
            }
            self.day.1 = self.day.1.saturating_add(*spent);
        }
        Ok(())
    }

    /// Checks that a task that was let through an open gate is not sent back to it.
    fn check_gates(&mut self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        let passing = |key| {
            state.gate(key).is_some_and(|gate: &AccountGate| gate.state == GateState::Passing)
        };
        match &recorded.event {
            Event::TaskReady { task, .. } => {
                if let Some(TaskState::BackingOff { gate: Some(gate), .. }) =
                    state.task(*task).map(|task| &task.state)
                    && passing(*gate)
                {
                    self.let_through.insert(*task, *gate);
                }
            }
            Event::GateWaiting { gate, .. } => self.let_through.retain(|_, of| of != gate),
            Event::RunStarted { task, .. } => {
                self.let_through.remove(task);
            }
            Event::RunResumed { run, .. } => {
                if let Some(run) = state.run(*run) {
                    self.let_through.remove(&run.task);
                }
            }
            Event::TaskBackingOff { task, gate: Some(gate), .. } => {
                let sent_back = self.let_through.remove(task) == Some(*gate) && passing(*gate);
                require(!sent_back, "who was let through passes", || format!("{task} {gate}"))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// I13: a dependant never starts before its dependencies are done.
    fn check_order(&mut self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        match &recorded.event {
            Event::BuildStarted { plan, .. } => {
                let first = state.tasks().map(|task| task.id.0 + 1).max().unwrap_or(0);
                let first = first.max(self.needs.keys().map(|id| id.0 + 1).max().unwrap_or(0));
                for (at, (_, needs)) in (first..).zip(plan.iter()) {
                    let needs = needs.iter().map(|need| TaskId(first + need)).collect();
                    self.needs.insert(TaskId(at), needs);
                }
            }
            Event::JobDefined { task, .. } => {
                self.needs.insert(*task, Vec::new());
            }
            Event::RunStarted { task, .. } => {
                for need in self.needs.get(task).into_iter().flatten() {
                    let done = state.task(*need).is_some_and(|t| t.state == TaskState::Done);
                    require(done, "I13", || format!("{task} starts before {need}"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// I9: phases only move forward.
    fn check_phase(&mut self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        match &recorded.event {
            Event::RunStarted { run, next, .. } => {
                self.phases.insert(*run, next.phase);
            }
            Event::RunPhase { run, phase } => {
                let was = self.phases.insert(*run, *phase).unwrap_or_default();
                require(*phase >= was, "I9", || format!("{run}: {was:?} then {phase:?}"))?;
            }
            Event::RunStep { run, step: Step::Attempt { .. } } => {
                let phase = state.run(*run).map(|run| run.phase).unwrap_or_default();
                let task = state.run(*run).and_then(|run| state.task(run.task));
                // An external runtime acts while it works, and may be told to continue with that.
                let elsewhere = task.is_some_and(Task::is_session);
                require(elsewhere || phase == Phase::Preparing, "I9", || {
                    format!("{run} works in {phase:?}")
                })?;
            }
            Event::RunFailed { run, .. }
            | Event::RunCommitted { run }
            | Event::RunCrashed { run, .. }
            | Event::RunCancelled { run, .. } => {
                self.phases.remove(run);
            }
            _ => {}
        }
        Ok(())
    }

    /// I1: no error gets a retry more than allowed without an answer or a recovery.
    fn check_tries(
        &mut self,
        state: &State,
        recorded: &RecordedEvent,
        policy: &Policy,
    ) -> Result<(), Violation> {
        match &recorded.event {
            Event::Retrying { task, signature, code, .. } => {
                *self.tries.entry((*signature, *task)).or_default() += 1;
                let of = |(of, _): &(Signature, TaskId)| of == signature;
                let made: u32 = self.tries.iter().filter(|(k, _)| of(k)).map(|(_, n)| n).sum();
                let own = state.task(*task).map(|task| task.spec.overrides).unwrap_or_default();
                let allowed = policy.limits_for(*code, &own).per_signature;
                require(made <= allowed, "I1", || format!("{signature} gets re-attempt {made}"))?;
            }
            Event::Recovered { task, .. } => self.tries.retain(|(_, of), _| of != task),
            Event::Forgotten { signature: None } => self.tries.clear(),
            Event::Forgotten { signature: Some(signature) } => {
                self.tries.retain(|(of, _), _| of != signature);
            }
            Event::QuestionAsked { question } => {
                self.subjects.insert(question.id, question.subject);
            }
            Event::QuestionResolved { question, .. } => {
                if let Some(Subject::Error(signature)) = self.subjects.remove(question) {
                    self.tries.retain(|(of, _), _| *of != signature);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// I2: a fault that is never retried is not retried without a person or a new budget window.
    fn check_blocked(&mut self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        let task_of = |run: &RunId| state.run(*run).map(|run| run.task);
        match &recorded.event {
            Event::FaultMet { run, fault, passing: false, .. }
                if fault.class() == Class::NeverRetry =>
            {
                if let Some(task) = task_of(run) {
                    self.blocked.insert(task, fault.code());
                }
            }
            Event::RunStarted { task, next, .. } => self.check_unblocked(*task, next.step)?,
            Event::RunResumed { run, step } | Event::RunStep { run, step } => {
                if let Some(task) = task_of(run) {
                    self.check_unblocked(task, *step)?;
                }
            }
            Event::TaskUnparked { task, .. }
            | Event::TaskRevived { task }
            | Event::JobFired { task } => {
                self.blocked.remove(task);
            }
            Event::MutationReconciled { mutation, .. } => {
                // The fault of a call is not a failure of an action that turned out to be settled.
                if let Some(mutation) = state.mutation(*mutation) {
                    self.blocked.remove(&mutation.task);
                }
            }
            Event::BuildResumed { build } | Event::Waking { build } => {
                self.blocked.retain(|task, code| {
                    let same = state.task(*task).is_some_and(|task| task.build == *build);
                    !(same && *code == Code::BudgetExhausted)
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn check_unblocked(&self, task: TaskId, step: Step) -> Result<(), Violation> {
        match self.blocked.get(&task) {
            Some(code) if step != Step::TakeBack => {
                Err(Violation::new("I2", format!("{task} goes on with {step:?} after {code}")))
            }
            _ => Ok(()),
        }
    }
}

impl EventInvariant {
    /// Captures the values that an event must not change.
    pub fn capture_before(state: &State, recorded: &RecordedEvent) -> Option<Self> {
        match &recorded.event {
            Event::FaultMet { run, fault, .. } => {
                let reaction = fault.code().row().reaction;
                let waits = matches!(reaction, Reaction::Gate | Reaction::GateUntilReset);
                let task = state.task(state.run(*run)?.task).filter(|_| waits)?;
                Some(Self::Uncharged {
                    task: task.id,
                    signature: fault.signature,
                    counters: task.counters,
                    count: state.signatures().count(fault.signature),
                })
            }
            Event::GateWaiting { gate: key, .. } => {
                let gate = state.gate(*key)?;
                let closed = matches!(gate.state, GateState::Waiting { .. });
                let counts = (gate.windows, gate.limited);
                closed.then_some(EventInvariant::Closed { gate: *key, counts })
            }
            _ => None,
        }
    }

    /// I3: waits charge nothing but wait, and one wait is one wait.
    pub fn check_after(&self, state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
        match self {
            Self::Uncharged { task, signature, counters, count } => {
                let Some(task) = state.task(*task) else { return Ok(()) };
                let now = Counters { crashes: counters.crashes, ..task.counters };
                let tries = state.signatures().count(*signature);
                require(now == *counters && tries == *count, "I3", || {
                    format!("{:?} charged {:?}", recorded.event, task.counters)
                })
            }
            Self::Closed { gate: key, counts } => {
                let now = state.gate(*key).map(|gate| (gate.windows, gate.limited));
                require(now == Some(*counts), "I3: one window is counted once", || {
                    format!("{key}: {counts:?} became {now:?}")
                })
            }
        }
    }
}

/// I4: an action is sent only if it certainly did not happen.
fn check_ledger(state: &State, recorded: &RecordedEvent) -> Result<(), Violation> {
    let Event::MutationInFlight { mutation, .. } = &recorded.event else { return Ok(()) };
    let may = state.mutation(*mutation).is_some_and(|mutation| {
        matches!(mutation.state, MutationState::Intended | MutationState::NotApplied)
    });
    require(may, "I4", || format!("{:?} is sent", state.mutation(*mutation)))
}

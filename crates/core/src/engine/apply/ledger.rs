//! Applies ledger events to the state.

use std::sync::Arc;

use crate::engine::event::Reconciled;
use crate::engine::ids::{EffectId, MutationId, RunId, TaskId};
use crate::engine::ledger::{DoubtedAction, Mutation, MutationState};
use crate::engine::run::Operation;
use crate::engine::state::{EffectWaiter, EngineTimer, State};
use crate::engine::task::{Task, Transient};
use crate::plan::MutationSpec;
use crate::time::Time;

impl State {
    pub(super) fn mutation_intended(
        &mut self,
        id: MutationId,
        run: RunId,
        spec: &Arc<MutationSpec>,
    ) {
        let Some(task) = self.runs.get(&run).and_then(|run| self.tasks.get(&run.task)) else {
            return;
        };
        let occurrence = task.occurrence(spec);
        let task = task.id;
        self.free_key(task, spec);
        self.ids.mutation = id.0.saturating_add(1);
        if spec.permanent {
            self.ledger.permanent.insert(Arc::from(spec.key.as_str()), id);
        }
        let mutation = Mutation {
            id,
            run,
            task,
            occurrence,
            spec: Arc::clone(spec),
            state: MutationState::Intended,
            sent_at: Time::EPOCH,
            called_at: None,
            came_back: None,
            probes: 0,
            probed_at: Time::EPOCH,
            probe_said: None,
        };
        self.ledger.mutations.insert(id, mutation);
        if let Some(task) = self.tasks.get_mut(&task) {
            task.ledger.push(id);
        }
    }

    /// Removes an action that did not happen, because its key is used for another one.
    fn free_key(&mut self, task: TaskId, spec: &MutationSpec) {
        let known = self.task(task).and_then(|task| self.find_action(task, spec));
        let Some((id, of)) = known.map(|known| (known.id, known.task)) else { return };
        self.ledger.mutations.remove(&id);
        if let Some(task) = self.tasks.get_mut(&of) {
            task.ledger.retain(|known| *known != id);
        }
    }

    /// Records the actions that may have happened although their records were lost. The engine
    /// consults them only for keys that the ledger does not know.
    pub(super) fn actions_doubted(&mut self, actions: &[DoubtedAction]) {
        for DoubtedAction { key, at } in actions {
            self.ledger.doubted.insert(Arc::clone(key), *at);
        }
    }

    pub(super) fn mutation_in_flight(&mut self, id: MutationId, run: RunId, seq: u64, at: Time) {
        let effect = EffectId(seq);
        self.set_mutation(id, MutationState::InFlight { effect });
        self.owed.insert(effect, EffectWaiter::Mutation(id));
        let task = self.runs.get(&run).map(|run| run.task);
        let Some(mutation) = self.ledger.mutations.get_mut(&id) else { return };
        mutation.run = run;
        // An action whose record was lost was sent earlier, by the recorded time.
        mutation.sent_at = self.ledger.doubted.remove(&*mutation.spec.key).unwrap_or(at);
        mutation.called_at = None;
        mutation.probes = 0;
        mutation.came_back = None;
        mutation.probe_said = None;
        if let Some(task) = task {
            let from = std::mem::replace(&mut mutation.task, task);
            self.hand_over(id, from, task);
        }
    }

    /// Moves an action to the ledger of another task: a permanent action that one task or firing
    /// could not perform is performed by another.
    fn hand_over(&mut self, id: MutationId, from: TaskId, to: TaskId) {
        if let Some(task) = self.tasks.get_mut(&from) {
            task.ledger.retain(|known| *known != id);
        }
        if let Some(task) = self.tasks.get_mut(&to) {
            task.ledger.push(id);
        }
    }

    pub(super) fn mutation_probing(
        &mut self,
        id: MutationId,
        (said, called_at): (Option<&Arc<str>>, Option<Time>),
        seq: u64,
        at: Time,
    ) {
        self.mutation_said(id, said);
        let effect = EffectId(seq);
        self.set_mutation(id, MutationState::Probing { effect });
        self.owed.insert(effect, EffectWaiter::Mutation(id));
        if let Some(mutation) = self.ledger.mutations.get_mut(&id) {
            mutation.called_at = called_at.or(mutation.called_at);
            if mutation.probes == 0 {
                mutation.sent_at = at;
            }
            mutation.probes += 1;
            mutation.probed_at = at;
        }
    }

    pub(super) fn mutation_settling(
        &mut self,
        id: MutationId,
        until: Time,
        said: Option<&Arc<str>>,
    ) {
        self.mutation_said(id, said);
        self.set_mutation(id, MutationState::Settling { until });
        self.timers.insert((until, EngineTimer::Mutation(id)));
    }

    pub(super) fn mutation_applied(&mut self, id: MutationId, result: &Arc<str>) {
        self.set_mutation(id, MutationState::Applied { result: Arc::clone(result) });
        self.mutation_settled(id, true);
    }

    pub(super) fn mutation_failed(&mut self, id: MutationId) {
        self.set_mutation(id, MutationState::NotApplied);
    }

    pub(super) fn mutation_indeterminate(&mut self, id: MutationId, said: Option<&Arc<str>>) {
        self.mutation_said(id, said);
        self.set_mutation(id, MutationState::Indeterminate);
    }

    /// Keeps the output of the call or probe that just ended.
    fn mutation_said(&mut self, id: MutationId, said: Option<&Arc<str>>) {
        let Some(mutation) = self.ledger.mutations.get_mut(&id) else { return };
        match mutation.state {
            MutationState::InFlight { .. } => mutation.came_back = said.cloned(),
            MutationState::Probing { .. } => mutation.probe_said = said.cloned(),
            _ => {}
        }
    }

    pub(super) fn mutation_reconciled(
        &mut self,
        id: MutationId,
        to: Reconciled,
        result: &Arc<str>,
    ) {
        let state = match to {
            Reconciled::Applied => MutationState::Applied { result: Arc::clone(result) },
            Reconciled::NotApplied => MutationState::NotApplied,
            Reconciled::Skipped => MutationState::Skipped,
        };
        self.set_mutation(id, state);
        self.mutation_settled(id, to != Reconciled::NotApplied);
    }

    /// Resets the crash counter of the action's task, because an answer about the action arrived.
    /// An action that is `over` is not repeated either, so its git and transient counters are reset
    /// as well.
    fn mutation_settled(&mut self, id: MutationId, over: bool) {
        if let Some(task) = self.ledger.mutations.get(&id).map(|mutation| mutation.task)
            && let Some(task) = self.tasks.get_mut(&task)
        {
            task.counters.crashes = 0;
            if over {
                task.counters.git = 0;
                task.counters.transient[Operation::Mutate as usize] = Transient::default();
            }
        }
    }

    fn set_mutation(&mut self, id: MutationId, state: MutationState) {
        let Some(mutation) = self.ledger.mutations.get_mut(&id) else { return };
        match std::mem::replace(&mut mutation.state, state) {
            MutationState::InFlight { effect } | MutationState::Probing { effect } => {
                self.owed.remove(&effect);
            }
            MutationState::Settling { until } => {
                self.timers.remove(&(until, EngineTimer::Mutation(id)));
            }
            MutationState::Intended
            | MutationState::Indeterminate
            | MutationState::Applied { .. }
            | MutationState::NotApplied
            | MutationState::Skipped => {}
        }
    }

    /// Removes the actions of a task or firing that is over, so that their keys are free again.
    /// Permanent keys stay.
    pub(super) fn forget_ledger(&mut self, task: &Task) {
        for id in &task.ledger {
            let Some(mutation) = self.ledger.mutations.get(id) else { continue };
            if !mutation.spec.permanent {
                self.ledger.mutations.remove(id);
            }
        }
    }
}

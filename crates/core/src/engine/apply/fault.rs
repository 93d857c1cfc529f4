//! Applies faults to the counters. A fault is charged only here.

use std::sync::Arc;

use crate::attempt::Approach;
use crate::engine::ids::{RunId, TaskId};
use crate::engine::question::{Subject, Tried};
use crate::engine::run::{Operation, Step};
use crate::engine::state::State;
use crate::engine::task::{ChargedTries, JobFailures, Transient};
use crate::fault::{Category, Charge, Class, Code, Fault, Work};
use crate::signature::Signature;
use crate::time::Time;

impl State {
    pub(super) fn fault_met(
        &mut self,
        id: RunId,
        fault: &Arc<Fault>,
        approach: Option<&Arc<Approach>>,
        ends: bool,
        passing: bool,
        at: Time,
    ) {
        if ends {
            self.settle_owed(id);
        }
        let Some(run) = self.runs.get(&id) else { return };
        let operation = if ends { run.step.operation() } else { Operation::Tool };
        let task_id = run.task;
        let step = run.step;
        let Some(task) = self.tasks.get_mut(&task_id) else { return };
        if ends {
            task.counters.crashes = 0;
        }
        task.failure = Some(Arc::clone(fault));
        task.setbacks.record_fault(id, fault, ends);
        let code = fault.code();
        if fault.category() == Category::Validation {
            task.check_failure = Some(Arc::clone(fault));
        }
        // A fault that an agent meets while it repairs a script is not a failed repair.
        let charges = fault.charges(if ends { task.work() } else { Work::Task });
        for charge in charges {
            match charge {
                Charge::Transient => {
                    count_one(&mut task.counters.transient[operation as usize], at);
                }
                Charge::Consecutive => task.counters.consecutive += 1,
                Charge::Compaction => task.counters.compactions += 1,
                Charge::Git => task.counters.git += 1,
                Charge::Repair => {
                    task.counters.repairs += 1;
                    task.repairs.called_for += 1;
                }
                // Tries are counted below; waits are counted at the gate.
                Charge::Signature | Charge::Wait => {}
            }
        }
        if step == Step::Execute && ends {
            task.repairs.broke = Some(Arc::clone(fault));
        }
        if let Some(approach) = approach.filter(|_| charges.contains(&Charge::Repair)) {
            task.repairs.remember_failed(Tried { approach: Arc::clone(approach), code });
        }
        if ends && task.is_scheduled() && (passing || charges.contains(&Charge::Transient)) {
            task.failing.get_or_insert(JobFailures { firings: 0, since: at });
        }
        if passing {
            count_one(&mut task.counters.transient[operation as usize], at);
        }
        let gate = task.spec.gate;
        if code == Code::ProviderApiError {
            self.gates.entry(gate).or_default().errors += 1;
        }
        self.count_try(task_id, fault.signature, charges.contains(&Charge::Signature), at);
        if let Some(approach) = approach {
            self.signatures.remember_approach(fault.signature, approach, code);
            if fault.class() == Class::CodeError {
                self.approach_failed(task_id, &Tried { approach: Arc::clone(approach), code });
            }
        }
    }

    fn approach_failed(&mut self, id: TaskId, tried: &Tried) {
        let Some(task) = self.tasks.get_mut(&id).filter(|task| task.work() == Work::Task) else {
            return;
        };
        task.setbacks.record_failed_approach(tried);
        if !task.is_session() {
            self.unfinished.record_failed_approach(&task.spec.name, tried);
        }
    }

    /// Counts the failure as a try of its error. A failure without that charge is only noted, and
    /// so is every failure while a question about the error is open, because it joins that
    /// question.
    fn count_try(&mut self, task: TaskId, signature: Signature, charged: bool, at: Time) {
        if !charged || self.subjects.contains_key(&Subject::Error(signature)) {
            self.signatures.record_uncharged(signature, at);
        } else {
            self.charge_try(task, signature, at);
        }
    }

    fn charge_try(&mut self, task: TaskId, signature: Signature, at: Time) {
        let (_, life) = self.signatures.charge_try(signature, at);
        let Some(task) = self.tasks.get_mut(&task) else { return };
        let same =
            |charged: &&mut ChargedTries| charged.signature == signature && charged.life == life;
        match task.charged.iter_mut().find(same) {
            Some(charged) => charged.count += 1,
            None => {
                task.charged.retain(|charged| charged.signature != signature);
                task.charged.push(ChargedTries { signature, life, count: 1 });
            }
        }
    }

    pub(super) fn task_retrying(&mut self, id: TaskId, signature: Signature, at: Time) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.retrying = Some(signature);
        if !task.has_charged(&self.signatures, signature) {
            self.charge_try(id, signature, at);
        }
    }

    pub(super) fn task_recovered(&mut self, task: TaskId) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        task.retrying = None;
        task.setbacks.clear_failures();
        task.counters.consecutive = 0;
        for charged in std::mem::take(&mut task.charged) {
            self.signatures.give_back(charged.signature, charged.life, charged.count);
        }
    }

    pub(super) fn signature_forgotten(&mut self, signature: Option<Signature>) {
        match signature {
            Some(signature) => self.signatures.reset(signature),
            None => self.signatures.reset_all(),
        }
    }
}

const fn count_one(transient: &mut Transient, at: Time) {
    if transient.count == 0 {
        transient.since = at;
    }
    transient.count += 1;
}

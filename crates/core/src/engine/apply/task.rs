//! Applies task events to the state. Every change of a task's state goes through `set_task`, so
//! that counts, queues, timers and gates always agree with it.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::engine::build::Build;
use crate::engine::ids::{BuildId, QuestionId, RunId, TaskId};
use crate::engine::invariant::count_down;
use crate::engine::run::{Next, Start, Step};
use crate::engine::setbacks::{Repairs, Setbacks};
use crate::engine::state::{EngineTimer, State};
use crate::engine::task::{Allowance, Counters, Guidance, SkipReason, Task, TaskState};
use crate::engine::why::Rule;
use crate::fault::{Code, Fault, Work};
use crate::plan::{GateKey, Request, TaskSpec};
use crate::time::Time;

/// Slots of the standing build. Jobs do not queue for slots, because each has its own schedule.
const JOB_SLOTS: u32 = u32::MAX;
/// Maximum number of requests remembered per session; the oldest are dropped first.
const REPORTS_KEPT_MAX: usize = 256;

impl State {
    pub(super) fn job_defined(&mut self, id: TaskId, spec: &Arc<TaskSpec>) {
        let build = match self.jobs {
            Some(build) => build,
            None => self.standing_build(),
        };
        if let Some(known) = self.tasks.get_mut(&id) {
            known.spec = Arc::clone(spec);
            return;
        }
        self.ids.task = self.ids.task.max(id.0.saturating_add(1));
        let mut task = Task::new(id, build, Arc::clone(spec), 0);
        task.state = TaskState::Done;
        if let Some(build) = self.builds.get_mut(&build) {
            build.tasks.push(id);
            build.counts[task.state.kind() as usize] += 1;
        }
        self.tasks.insert(id, task);
    }

    fn standing_build(&mut self) -> BuildId {
        let id = BuildId(self.ids.build);
        self.ids.build += 1;
        self.builds.insert(id, Build::new(id, JOB_SLOTS, false, true));
        self.jobs = Some(id);
        id
    }

    /// Starts the next firing of a job. Counters, repairs and budget start over, because a firing
    /// has its own budget; the project's record of errors stays.
    pub(super) fn job_fired(&mut self, id: TaskId, at: Time) {
        let Some(mut task) = self.tasks.remove(&id) else { return };
        self.forget_ledger(&task);
        task.ledger.clear();
        task.firing += 1;
        task.fired_at = at;
        task.attempts = 0;
        task.executions = 0;
        task.fire_later = false;
        task.counters = Counters::default();
        task.repairs = Repairs::default();
        task.failure = None;
        task.setbacks = Setbacks::default();
        task.raised = task.spent;
        task.next = Next::EXECUTE;
        self.tasks.insert(id, task);
        self.set_task(id, TaskState::Pending { run: None });
    }

    pub(super) fn job_held(&mut self, id: TaskId, held: bool) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.held = held;
        }
    }

    pub(super) fn job_fire_later(&mut self, id: TaskId) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.fire_later = true;
        }
    }

    /// Ends a firing without success over a transient failure.
    pub(super) fn job_missed(&mut self, id: TaskId, code: Code) {
        if let Some(failing) = self.tasks.get_mut(&id).and_then(|task| task.failing.as_mut()) {
            failing.firings += 1;
        }
        self.set_task(id, TaskState::Failed { code });
    }

    /// Remembers an accepted report on a session by its idempotency key.
    pub(super) fn session_reported(&mut self, task: TaskId, request: &Request) {
        let Some(task) = self.tasks.get_mut(&task) else { return };
        if task.reports.len() >= REPORTS_KEPT_MAX {
            task.reports.remove(0);
        }
        task.reports.push(Request { key: Arc::clone(&request.key), said: request.said });
    }

    pub(super) fn task_backing_off(
        &mut self,
        id: TaskId,
        until: Option<Time>,
        gate: Option<GateKey>,
        run: Option<RunId>,
        next: Next,
    ) {
        self.set_next(id, next);
        self.set_task(id, TaskState::BackingOff { until, gate, run });
    }

    pub(super) fn task_reconciling(
        &mut self,
        id: TaskId,
        run: RunId,
        fault: Option<Arc<Fault>>,
        next: Next,
    ) {
        self.set_next(id, next);
        if let Some(task) = self.tasks.get_mut(&id) {
            task.unsettled = fault;
        }
        self.set_task(id, TaskState::Reconciling { run });
    }

    pub(super) fn task_done(&mut self, id: TaskId, unchanged: Option<&Arc<str>>) {
        self.set_unchanged(id, unchanged.cloned());
        if let Some(task) = self.tasks.get_mut(&id) {
            task.counters = Counters::default();
            task.guidance = None;
            task.failing = None;
            task.setbacks = Setbacks::default();
            if task.work() == Work::Task {
                self.unfinished.remove_task(&task.spec.name);
            }
        }
        self.set_task(id, TaskState::Done);
        self.meet_needs_of_dependants(id);
    }

    fn meet_needs_of_dependants(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(&id) else { return };
        for dependant in task.dependants.clone() {
            let Some(task) = self.tasks.get_mut(&dependant) else { continue };
            count_down(&mut task.needs_left, "tasks that a task needs", &mut self.broken);
            if task.needs_left == 0
                && let TaskState::Pending { .. } = task.state
                && let Some(build) = self.builds.get_mut(&task.build)
            {
                let place = (Reverse(task.spec.priority), dependant);
                build.enqueue(task.gate_needed(), place, task.beside);
            }
        }
    }

    pub(super) fn task_failed(&mut self, id: TaskId, code: Code) {
        self.set_task(id, TaskState::Failed { code });
    }

    pub(super) fn task_skipped(&mut self, id: TaskId, left: SkipReason) {
        self.set_task(id, TaskState::Skipped { left });
    }

    pub(super) fn task_cancelled(&mut self, id: TaskId) {
        self.set_task(id, TaskState::Cancelled);
    }

    pub(super) fn task_parked(
        &mut self,
        id: TaskId,
        question: QuestionId,
        run: Option<RunId>,
        next: Next,
    ) {
        let asked = self.questions.get(&question).map(|question| question.why.rule);
        if asked == Some(Rule::RepairBudgetExhausted)
            && let Some(task) = self.tasks.get_mut(&id)
        {
            // The fault that led to the question started no repair.
            task.counters.repairs = task.counters.repairs.saturating_sub(1);
        }
        self.set_next(id, next);
        self.set_task(id, TaskState::Parked { question, run });
    }

    pub(super) fn task_unparked(
        &mut self,
        id: TaskId,
        next: Next,
        guidance: Option<Arc<Guidance>>,
        allowance: Option<&Allowance>,
        fresh: bool,
    ) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let run = task.state.run();
        if guidance.is_some() {
            task.guidance = guidance;
            task.setbacks.record_answer(task.failure.clone());
        }
        if fresh {
            task.counters = Counters::default();
            task.nudged = None;
        }
        if let Some(allowance) = allowance {
            task.allowance = Some(allowance.signature);
            task.allowed_commands.clone_from(&allowance.commands);
            if allowance.always {
                self.allowed.insert(allowance.signature);
                self.allowed_commands.extend(allowance.commands.iter().cloned());
            }
        }
        self.set_next(id, next);
        self.set_task(id, TaskState::Pending { run });
    }

    pub(super) fn task_ready(&mut self, id: TaskId, run: Option<RunId>, next: Next) {
        self.set_next(id, next);
        self.set_task(id, TaskState::Pending { run });
    }

    pub(super) fn task_revived(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.counters = Counters::default();
        task.nudged = None;
        task.retrying = None;
        task.declared.clear();
        task.next = match task.work() {
            Work::Task if task.last_run.is_some() => Next::at_attempt(Start::FromBase),
            Work::Task => Next::at_attempt(Start::Fresh),
            Work::Job => Next::EXECUTE,
        };
        self.set_unchanged(id, None);
        self.set_task(id, TaskState::Pending { run: None });
    }

    /// Sets the reason why a task needed no change, and counts it in its build.
    fn set_unchanged(&mut self, id: TaskId, reason: Option<Arc<str>>) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        if let Some(build) = self.builds.get_mut(&task.build) {
            // A snapshot of an older version does not have the number.
            let others = build.unchanged.saturating_sub(u32::from(task.unchanged.is_some()));
            build.unchanged = others + u32::from(reason.is_some());
        }
        task.unchanged = reason;
    }

    /// Sets the place where the task's next run begins. A new conversation drops the actions that
    /// the old one declared and counts its compactions anew.
    pub(super) fn set_next(&mut self, id: TaskId, next: Next) {
        self.leave_queue(id);
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.next = next;
        if let Step::Attempt { start: Start::KeepTree | Start::FromBase | Start::NewWorktree } =
            next.step
        {
            task.declared.clear();
            task.counters.compactions = 0;
        }
    }

    pub(super) fn set_task(&mut self, id: TaskId, state: TaskState) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let old = std::mem::replace(&mut task.state, state);
        if task.state.has_ended() {
            task.approach = None;
        }
        let new = &task.state;
        let ready = task.needs_left == 0;
        let gate = task.gate_needed();
        let place = (Reverse(task.spec.priority), id);
        let beside = task.beside;
        if let TaskState::BackingOff { until, gate, .. } = old {
            if let Some(until) = until {
                self.timers.remove(&(until, EngineTimer::Task(id)));
            }
            if let Some(gate) = gate.and_then(|key| self.gates.get_mut(&key)) {
                gate.waiters.remove(&id);
            }
        }
        if let TaskState::BackingOff { until, gate, .. } = new {
            if let Some(until) = until {
                self.timers.insert((*until, EngineTimer::Task(id)));
            }
            if let Some(gate) = gate {
                self.gates.entry(*gate).or_default().waiters.insert(id);
            }
        }
        if let Some(build) = self.builds.get_mut(&task.build) {
            let left = &mut build.counts[old.kind() as usize];
            count_down(left, "tasks of a build in a state", &mut self.broken);
            build.counts[new.kind() as usize] += 1;
            if ready && let TaskState::Pending { .. } = new {
                build.enqueue(gate, place, beside);
            } else if let TaskState::Pending { .. } = old {
                build.dequeue(gate, place, beside);
            }
            if !beside.is_everyone() {
                build.apart.set_running(id, beside, matches!(new, TaskState::Running { .. }));
            }
            // A run that waits for a reason of its own does not resume with its build.
            if let (Some(run), false) = (new.run(), matches!(new, TaskState::Running { .. })) {
                build.held.remove(&run);
            }
        }
        let build = task.build;
        if let TaskState::Parked { question, .. } = old {
            self.leave_question(question, id);
        }
        self.reschedule_build(build);
    }

    /// Removes a pending task from its queue. The queue depends on the task's next step, so the
    /// task leaves it before that step changes.
    fn leave_queue(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(&id) else { return };
        if let TaskState::Pending { .. } = task.state
            && let Some(build) = self.builds.get_mut(&task.build)
        {
            let place = (Reverse(task.spec.priority), id);
            build.dequeue(task.gate_needed(), place, task.beside);
        }
    }
}

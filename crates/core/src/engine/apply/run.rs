//! Applies run events to the state.

use std::sync::Arc;

use crate::attempt::{Approach, Digest, SeenErrors};
use crate::engine::build::Build;
use crate::engine::checked::Checked;
use crate::engine::ids::{EffectId, RunId, TaskId};
use crate::engine::run::{Next, Operation, Phase, Run, Status, Step};
use crate::engine::state::{EffectWaiter, State};
use crate::engine::task::{Refused, Task, TaskState, Transient};
use crate::fault::Fault;
use crate::plan::MutationSpec;
use crate::policy::Amount;
use crate::signature::Signature;
use crate::time::Time;

/// Maximum number of refused actions remembered per task.
const REFUSED_MAX: usize = 20;

impl State {
    pub(super) fn run_started(&mut self, id: RunId, task: TaskId, next: Next, seq: u64) {
        self.ids.run = id.0.saturating_add(1);
        let Some(build) = self.tasks.get(&task).map(|task| task.build) else { return };
        self.runs.insert(
            id,
            Run {
                id,
                task,
                build,
                phase: next.phase,
                status: Status::Active,
                step: next.step,
                owes: None,
                iterations: 0,
                tool_calls: 0,
                reserved: Amount::ZERO,
                seen: SeenErrors::default(),
                blamed: None,
            },
        );
        if let Some(task) = self.tasks.get_mut(&task) {
            task.last_run = Some(id);
            if next.step.begins_anew() {
                task.attempts += 1;
            }
        }
        self.set_task(task, TaskState::Running { run: id });
        self.run_step(id, next.step, seq);
    }

    pub(super) fn run_resumed(&mut self, id: RunId, step: Step, seq: u64) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.status = Status::Active;
        let task = run.task;
        self.set_task(task, TaskState::Running { run: id });
        if let Some(build) = self.build_of_run(id) {
            build.held.remove(&id);
        }
        self.run_step(id, step, seq);
    }

    /// Moves the run to `step` and records the effect that the step needs as owed.
    pub(super) fn run_step(&mut self, id: RunId, step: Step, seq: u64) {
        self.leave_merge(id);
        if let Step::Attempt { .. } | Step::Repair { .. } = step
            && let Some(task) = self.task_of_run(id)
        {
            task.approach = None;
        }
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.step = step;
        run.blamed = None;
        let task = run.task;
        match step {
            Step::AwaitMerge => {
                if let Some(build) = self.build_of_run(id) {
                    build.merge_line.push_back(id);
                }
            }
            Step::Mutate { .. } => {}
            Step::Attempt { .. }
            | Step::Check
            | Step::Commit
            | Step::Emit
            | Step::Repair { .. }
            | Step::Execute
            | Step::TakeBack => self.owe_effect(id, EffectId(seq)),
        }
        if let Step::Check | Step::Commit | Step::Mutate { at: 0 } = step
            && self.tasks.get(&task).is_some_and(|task| task.spec.merges_result())
            && let Some(build) = self.build_of_run(id)
            && build.merging.is_none()
        {
            build.merging = Some(id);
        }
        if step.begins_anew()
            && let Some(task) = self.tasks.get_mut(&task)
        {
            // The check results of the last attempt do not apply to this one.
            task.checked.clear();
        }
        if step == Step::Execute
            && let Some(task) = self.tasks.get_mut(&task)
        {
            task.executions += 1;
        }
    }

    fn owe_effect(&mut self, id: RunId, effect: EffectId) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.owes = Some(effect);
            self.owed.insert(effect, EffectWaiter::Run(id));
        }
    }

    pub(super) fn settle_owed(&mut self, id: RunId) {
        if let Some(effect) = self.runs.get_mut(&id).and_then(|run| run.owes.take()) {
            self.owed.remove(&effect);
        }
    }

    pub(super) fn step_done(&mut self, id: RunId) {
        self.settle_owed(id);
        let Some(run) = self.runs.get(&id) else { return };
        let operation = run.step.operation();
        if let Some(task) = self.tasks.get_mut(&run.task) {
            task.running_commands.clear();
            task.counters.crashes = 0;
            task.counters.git = 0;
            task.counters.transient[operation as usize] = Transient::default();
            if run.step == Step::Check {
                task.setbacks.red = None;
            }
        }
    }

    /// Records the commands that the agent of a run has running; they may take effect whatever
    /// becomes of the agent.
    pub(super) fn commands_running(&mut self, id: RunId, commands: &[Arc<str>]) {
        if let Some(task) = self.task_of_run(id) {
            task.running_commands = commands.to_vec();
        }
    }

    pub(super) fn action_refused(&mut self, id: RunId, what: &Arc<str>, why: &Arc<str>) {
        let Some(task) = self.task_of_run(id) else { return };
        if task.refused.len() < REFUSED_MAX && task.refused.iter().all(|known| known.what != *what)
        {
            task.refused.push(Refused { what: Arc::clone(what), why: Arc::clone(why) });
        }
    }

    pub(super) fn run_phase(&mut self, id: RunId, phase: Phase) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.phase = run.phase.max(phase);
        }
    }

    pub(super) fn run_paused(&mut self, id: RunId, status: Status, step: Step) {
        self.settle_owed(id);
        self.leave_merge(id);
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.status = status;
        run.step = step;
        let Some(build) = self.build_of_run(id) else { return };
        if !build.state.allows_work() {
            build.held.insert(id);
        }
    }

    pub(super) fn run_ended(&mut self, id: RunId) {
        self.settle_owed(id);
        self.leave_merge(id);
        if let Some(build) = self.build_of_run(id) {
            build.held.remove(&id);
        }
        if let Some(run) = self.runs.remove(&id) {
            self.release_reserved(&run);
        }
    }

    /// Clears the one-time permission of the task: it holds only for the run that continues after
    /// the answer.
    pub(super) fn allowance_used(&mut self, id: RunId) {
        if let Some(task) = self.task_of_run(id) {
            task.allowance = None;
            task.allowed_commands.clear();
        }
    }

    pub(super) fn run_crashed(&mut self, id: RunId, clean: bool) {
        if !clean
            && let Some(task) = self.runs.get(&id).map(|run| run.task)
            && let Some(task) = self.tasks.get_mut(&task)
        {
            task.counters.crashes += 1;
        }
        self.run_ended(id);
    }

    pub(super) fn run_progress(
        &mut self,
        id: RunId,
        iterations: u32,
        tool_calls: u32,
        validated: bool,
    ) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.iterations = run.iterations.saturating_add(iterations);
        run.tool_calls = run.tool_calls.saturating_add(tool_calls);
        if validated && let Some(task) = self.tasks.get_mut(&run.task) {
            task.counters.consecutive = 0;
            task.counters.transient[Operation::Tool as usize] = Transient::default();
        }
    }

    pub(super) fn fault_blamed(&mut self, id: RunId, fault: &Arc<Fault>) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.blamed = Some(Arc::clone(fault));
        }
    }

    pub(super) fn failure_observed(
        &mut self,
        id: RunId,
        signature: Signature,
        tree: Option<Digest>,
    ) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.seen.record_seen(signature, tree);
        }
    }

    pub(super) fn approach_taken(
        &mut self,
        id: RunId,
        approach: &Arc<Approach>,
        confirms: Option<Signature>,
    ) {
        if let Some(task) = self.task_of_run(id) {
            task.approach = Some(Arc::clone(approach));
        }
        if let (Some(signature), Some(digest)) = (confirms, approach.digest) {
            self.signatures.confirm_approach(signature, digest);
        }
    }

    /// Records the check results of a gate and notes its flaky checks. The latest result replaces
    /// the earlier one, because a gate may be checked again on another head.
    pub(super) fn gate_checked(&mut self, id: RunId, checked: &Arc<Checked>, at: Time) {
        for flaky in checked.flaky_signatures() {
            self.signatures.record_uncharged(flaky, at);
        }
        if let Some(task) = self.task_of_run(id) {
            task.checked.retain(|known| known.gate != checked.gate);
            task.checked.push(Arc::clone(checked));
        }
    }

    pub(super) fn agent_nudged(&mut self, id: RunId) {
        if let Some(task) = self.task_of_run(id) {
            task.nudged = Some(id);
        }
    }

    pub(super) fn action_declared(&mut self, id: RunId, mutation: &Arc<MutationSpec>) {
        if let Some(task) = self.task_of_run(id) {
            task.declared.push(Arc::clone(mutation));
        }
    }

    /// Releases the merge lock, or the run's place in the queue for it.
    fn leave_merge(&mut self, id: RunId) {
        let in_line = self.runs.get(&id).is_some_and(|run| run.step == Step::AwaitMerge);
        let Some(build) = self.build_of_run(id) else { return };
        if build.merging == Some(id) {
            build.merging = None;
        }
        // The queue may hold thousands of runs, and mostly the first one leaves it.
        if in_line && build.merge_line.pop_front_if(|first| *first == id).is_none() {
            build.merge_line.retain(|waiting| *waiting != id);
        }
        let build = build.id;
        self.reschedule_build(build);
    }

    fn task_of_run(&mut self, id: RunId) -> Option<&mut Task> {
        let task = self.runs.get(&id)?.task;
        self.tasks.get_mut(&task)
    }

    pub(super) fn build_of_run(&mut self, id: RunId) -> Option<&mut Build> {
        let build = self.runs.get(&id)?.build;
        self.builds.get_mut(&build)
    }
}

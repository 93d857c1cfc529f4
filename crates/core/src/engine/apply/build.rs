//! Applies build events to the state.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::engine::build::{Build, BuildState};
use crate::engine::checked::RedCheck;
use crate::engine::event::PauseCause;
use crate::engine::ids::{BuildId, TaskId};
use crate::engine::state::{EngineTimer, State};
use crate::engine::task::{Task, TaskStateKind};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::time::Time;

impl State {
    pub(super) fn build_started(&mut self, id: BuildId, plan: &Plan, slots: u32, in_place: bool) {
        self.drop_ended_builds();
        self.ids.build = id.0.saturating_add(1);
        let first = self.ids.task;
        let mut build = Build::new(id, slots, in_place, false);
        build.client = plan.is_client_plan();
        build.session = plan.session_task().map(|task| Arc::from(task.title.as_str()));
        let beside = build.apart.register_reaches(plan.iter().map(|(spec, _)| spec));
        for ((at, (spec, needs)), beside) in (first..).zip(plan.iter()).zip(beside) {
            let needs_left = u32::try_from(needs.len()).unwrap_or(u32::MAX);
            let mut task = Task::new(TaskId(at), id, Arc::new(spec.clone()), needs_left);
            task.beside = beside;
            if !task.is_session() {
                task.setbacks.before = self.unfinished.failed_approaches(&spec.name);
            }
            build.tasks.push(task.id);
            build.counts[TaskStateKind::Pending as usize] += 1;
            if needs.is_empty() {
                let place = (Reverse(spec.priority), task.id);
                build.enqueue(task.gate_needed(), place, beside);
            }
            self.tasks.insert(task.id, task);
            self.ids.task = at + 1;
        }
        for (at, (_, needs)) in (first..).zip(plan.iter()) {
            for &need in needs {
                if let Some(needed) = self.tasks.get_mut(&TaskId(first + need)) {
                    needed.dependants.push(TaskId(at));
                }
            }
        }
        self.builds.insert(id, build);
        self.reschedule_build(id);
    }

    /// Drops ended builds from the state. An ended build can be revived until another one starts;
    /// after that only the store knows it.
    fn drop_ended_builds(&mut self) {
        let over: Vec<BuildId> = self
            .builds
            .values()
            .filter(|build| build.state.has_ended() && build.unfinished_count() == 0)
            .map(|build| build.id)
            .collect();
        for id in over {
            let Some(build) = self.builds.remove(&id) else { continue };
            for task in build.tasks {
                if let Some(task) = self.tasks.remove(&task) {
                    self.forget_ledger(&task);
                }
            }
        }
    }

    /// Replaces the known red checks that have the same command and keeps the others, because tasks
    /// with other checks measure their own.
    pub(super) fn base_checked(&mut self, id: BuildId, red: &[RedCheck]) {
        if let Some(build) = self.builds.get_mut(&id) {
            build.red_base.retain(|known| red.iter().all(|new| new.command != known.command));
            build.red_base.extend_from_slice(red);
        }
    }

    pub(super) fn base_judged(&mut self, id: BuildId, belongs: bool) {
        if let Some(build) = self.builds.get_mut(&id) {
            build.base_belongs = Some(belongs);
        }
    }

    pub(super) fn build_waiting(&mut self, id: BuildId) {
        self.set_build(id, BuildState::Waiting);
    }

    pub(super) fn build_resumed(&mut self, id: BuildId) {
        self.set_build(id, BuildState::Running);
        if let Some(build) = self.builds.get_mut(&id) {
            build.failure = None;
        }
        self.reschedule_build(id);
    }

    pub(super) fn build_completed(&mut self, id: BuildId) {
        self.set_build(id, BuildState::Completed);
    }

    pub(super) fn build_failed(&mut self, id: BuildId, fault: &Arc<Fault>) {
        self.set_build(id, BuildState::Failed);
        if let Some(build) = self.builds.get_mut(&id) {
            build.failure = Some(Arc::clone(fault));
        }
    }

    pub(super) fn build_cancelled(&mut self, id: BuildId) {
        self.set_build(id, BuildState::Cancelled);
    }

    pub(super) fn build_paused(&mut self, id: BuildId, cause: PauseCause) {
        self.set_build(id, BuildState::Paused { cause });
    }

    pub(super) fn build_sleeping(&mut self, id: BuildId, until: Time) {
        self.set_build(id, BuildState::Sleeping { until });
        self.timers.insert((until, EngineTimer::Build(id)));
    }

    fn set_build(&mut self, id: BuildId, state: BuildState) {
        let Some(build) = self.builds.get_mut(&id) else { return };
        if let BuildState::Sleeping { until } = build.state {
            self.timers.remove(&(until, EngineTimer::Build(id)));
        }
        build.state = state;
    }
}

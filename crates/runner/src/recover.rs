//! Recovery of effects that an earlier process left, whether it crashed or ended properly.
//!
//! All processes that may still run for a task are ended first; only then are its runs declared
//! gone and the consequences decided.

use std::collections::BTreeSet;

use tokio::task::JoinSet;
use unstuck_core::engine::{Command, EffectId, TaskId};

use crate::notice::RunnerNotice;
use crate::runner::Runner;
use crate::world::PerformScope;

/// Tasks whose leftover processes are being ended, or whose turn is waited for.
#[derive(Default)]
pub(crate) struct LeftoverCleanup {
    set: JoinSet<CleanupStep>,
    /// Tasks that a living process performs, and whose turn is waited for.
    elsewhere: BTreeSet<TaskId>,
}

/// A completed step of the clearing.
pub(crate) enum CleanupStep {
    /// No process of these tasks is running any more.
    Gone(BTreeSet<TaskId>),
    /// The process that performed this task elsewhere has finished with it, or is gone.
    TurnFree(TaskId),
}

impl LeftoverCleanup {
    pub(crate) fn is_pending(&self) -> bool {
        !self.set.is_empty()
    }

    /// Waits for the next completed step.
    pub(crate) async fn next_step(&mut self) -> CleanupStep {
        let next = self.set.join_next().await.and_then(Result::ok);
        next.unwrap_or_else(|| CleanupStep::Gone(BTreeSet::new()))
    }
}

impl Runner {
    /// Takes up leftover effects in `scope`, after a worker attached for it.
    pub(crate) fn take_up_leftovers(&mut self, scope: &PerformScope, attachment: u64) {
        let Some(world) = self.work.find_performer(attachment).cloned() else { return };
        let mut tasks = BTreeSet::new();
        let performing = world.running_effects();
        let leftover: BTreeSet<EffectId> = self.leftover.drain(..).collect();
        for effect in self.state.outstanding_effects() {
            let Some(order) = self.make_effect_request(effect) else { continue };
            let id = order.effect.id;
            let task = order.effect.task;
            match leftover.contains(&id) {
                true if !scope.covers_request(&order) => self.leftover.push(id),
                true if performing.contains(&id) => self.work.perform_effect(order),
                true if self.is_performed_elsewhere(scope, task) => self.leftover.push(id),
                true => {
                    tasks.insert(task);
                }
                false => {}
            }
        }
        if !tasks.is_empty() {
            self.clearing.set.spawn(async move {
                let all: Vec<TaskId> = tasks.iter().copied().collect();
                world.reap_leftovers(&all).await;
                CleanupStep::Gone(tasks)
            });
        }
    }

    /// Returns whether a living process still performs a task for a holder that is gone: it will
    /// connect to this holder, or its turn is waited for. A worker that attaches for one task has
    /// the turn at it.
    fn is_performed_elsewhere(&mut self, scope: &PerformScope, task: TaskId) -> bool {
        let Some(turns) = self.setup.turns.as_ref().filter(|_| scope.is_broad()) else {
            return false;
        };
        if !turns.is_task_locked(task) {
            return false;
        }
        if self.clearing.elsewhere.insert(task) {
            let turns = turns.clone();
            self.clearing.set.spawn(async move {
                if let Err(error) = turns.lock_task(task).await {
                    tracing::error!(%error, %task, "the turn at a task cannot be waited for");
                    std::future::pending::<()>().await;
                }
                CleanupStep::TurnFree(task)
            });
        }
        true
    }

    /// Takes up leftover effects after a completed step.
    pub(crate) fn handle_cleanup_step(&mut self, cleared: CleanupStep) {
        match cleared {
            CleanupStep::Gone(tasks) => self.recover_tasks(&tasks, self.clean),
            CleanupStep::TurnFree(task) => {
                self.clearing.elsewhere.remove(&task);
                for (attachment, scope) in self.work.broad_attachments() {
                    self.take_up_leftovers(&scope, attachment);
                }
            }
        }
    }

    /// Detaches a worker that is gone, together with the effects it was performing; `clean` if it
    /// left properly. The next worker in line takes its place.
    pub(crate) fn detach_performer(&mut self, attachment: u64, clean: bool) {
        let of_a_build = self.work.is_build_attachment(attachment);
        let tasks = self.work.detach_performer(attachment);
        if !tasks.is_empty() {
            self.recover_tasks(&tasks, clean);
        }
        self.retry_queued_attachments();
        if of_a_build {
            // There may be no watcher.
            let _ = self.handle.notices.send(RunnerNotice::Left);
        }
    }

    /// Recovers tasks of which no process is running any more.
    pub(crate) fn recover_tasks(&mut self, tasks: &BTreeSet<TaskId>, clean: bool) {
        self.work.forget_waiting(|task| tasks.contains(&task));
        if self.is_otherwise_idle() {
            self.decide_command(Command::Recover { task: None, clean }, None, None);
            return;
        }
        for task in tasks {
            self.decide_command(Command::Recover { task: Some(*task), clean }, None, None);
        }
    }

    /// Returns whether no other work is in flight: none with a worker, none on its way to the disk,
    /// none being cleared.
    fn is_otherwise_idle(&self) -> bool {
        self.leftover.is_empty()
            && self.work.is_idle()
            && self.pending.is_empty()
            && !self.clearing.is_pending()
    }
}

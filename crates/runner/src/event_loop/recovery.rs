//! Recovery: of effects that an earlier process left, whether it crashed or ended properly, and of
//! the state after a failed write.
//!
//! All processes that may still run for a task are ended first; only then are its runs declared
//! gone and the consequences decided. After a failed write the state in memory is ahead of the
//! disk, so it is discarded and read again. Results of effects are kept and submitted once more;
//! other callers get the error.

use std::collections::BTreeSet;
use std::sync::Arc;

use unstuck_core::engine::{Command, EffectId, TaskId};
use unstuck_core::time::Span;
use unstuck_store::{Claim, StoreError};

use super::handle::{CommandError, RunnerNotice};
use super::runner::Runner;
use super::work_list::CleanupStep;
use crate::effects::PerformScope;

/// Backoff before the store is tried again: first and maximum wait.
const WAIT_FIRST: Span = Span::from_secs(1);
const WAIT_MAX: Span = Span::from_secs(60);

impl Runner {
    /// Takes up leftover effects in `scope`, after a worker attached for it.
    pub(super) fn take_up_leftovers(&mut self, scope: &PerformScope, attachment: u64) {
        let Some(performer) = self.work.find_performer(attachment).cloned() else { return };
        let mut tasks = BTreeSet::new();
        let performing = performer.running_effects();
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
                performer.reap_leftovers(&all).await;
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
    pub(super) fn handle_cleanup_step(&mut self, cleared: CleanupStep) {
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
    pub(super) fn detach_performer(&mut self, attachment: u64, clean: bool) {
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
    pub(super) fn recover_tasks(&mut self, tasks: &BTreeSet<TaskId>, clean: bool) {
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

    /// Discards the state and starts again from the store, as soon as it can be written.
    pub(super) async fn reload_from_store(&mut self, error: StoreError) -> Result<(), StoreError> {
        tracing::error!(%error, "a decision could not be written; memory is thrown away");
        let results = self.fail_pending(&error);
        self.journal = None;
        let claim = self.claim_again(error).await?;
        self.state = claim.state;
        self.journal = Some(claim.journal);
        self.answering.clear();
        for result in results {
            self.decide_command(result.clone(), Some(result), None);
        }
        self.start_missed_effects();
        self.take_answers().await
    }

    /// Fails the replies of all pending decisions, and returns the results of effects among them.
    fn fail_pending(&mut self, error: &StoreError) -> Vec<Command> {
        let mut results = Vec::new();
        for entry in self.pending.drain() {
            results.extend(entry.result);
            if let Some(reply) = entry.reply {
                // The caller may be gone.
                let _ = reply.send(Err(CommandError::Store(error.clone())));
            }
        }
        results
    }

    /// Claims the project again. A disk that is full or unavailable is waited for, with a notice.
    async fn claim_again(&mut self, mut error: StoreError) -> Result<Claim, StoreError> {
        let mut wait = WAIT_FIRST;
        let mut waited = false;
        loop {
            if is_transient(&error) {
                waited = true;
                let until = self.setup.clock.now() + wait;
                let message = Arc::from(error.to_string());
                let _ = self.handle.notices.send(RunnerNotice::StoreWaiting { message, until });
                self.setup.clock.wait_until(until).await;
                wait = Span::from_millis(wait.as_millis() * 2).min(WAIT_MAX);
            }
            match self.setup.store.claim_project(&self.setup.project, &self.setup.holder).await {
                Ok(claim) => {
                    if waited {
                        let _ = self.handle.notices.send(RunnerNotice::StoreBack);
                    }
                    return Ok(claim);
                }
                Err(next) if is_transient(&next) => error = next,
                Err(next) => return Err(next),
            }
        }
    }

    /// Performs outstanding effects that were never started, because the confirmation of their
    /// durability was lost.
    fn start_missed_effects(&mut self) {
        for effect in self.state.outstanding_effects() {
            if !self.work.contains_effect(effect.id)
                && !self.leftover.contains(&effect.id)
                && let Some(order) = self.make_effect_request(effect)
            {
                self.work.perform_effect(order);
            }
        }
    }
}

/// Returns whether the error passes by itself.
const fn is_transient(error: &StoreError) -> bool {
    matches!(error, StoreError::Full { .. } | StoreError::Unavailable { .. })
}

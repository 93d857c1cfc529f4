//! Recovery from a failed write: the state in memory is then ahead of the disk, so it is discarded
//! and read again. Results of effects are kept and submitted once more; other callers get the
//! error.

use std::sync::Arc;

use unstuck_core::engine::Command;
use unstuck_core::time::Span;
use unstuck_store::{Claim, StoreError};

use crate::handle::CommandError;
use crate::notice::RunnerNotice;
use crate::runner::Runner;

/// Backoff before the store is tried again: first and maximum wait.
const WAIT_FIRST: Span = Span::from_secs(1);
const WAIT_MAX: Span = Span::from_secs(60);

impl Runner {
    /// Discards the state and starts again from the store, as soon as it can be written.
    pub(crate) async fn reload_from_store(&mut self, error: StoreError) -> Result<(), StoreError> {
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

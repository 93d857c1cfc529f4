//! When a write fails, memory is ahead of a disk that will not follow: it is thrown away and read
//! again. Results of effects are kept and submitted once more; everybody else is told.

use std::sync::Arc;

use unstuck_core::engine::Command;
use unstuck_core::time::Span;
use unstuck_store::{Claim, StoreError};

use crate::handle::CommandError;
use crate::notice::Notice;
use crate::runner::Runner;

/// How long the store is left alone before it is tried again: at first, and at most.
const WAIT_FIRST: Span = Span::from_secs(1);
const WAIT_MAX: Span = Span::from_secs(60);

impl Runner {
    /// Begins again from what is on disk, as soon as that can be written.
    pub(crate) async fn start_over(&mut self, error: StoreError) -> Result<(), StoreError> {
        tracing::error!(%error, "a decision could not be written; memory is thrown away");
        let results = self.fail_pending(&error);
        self.journal = None;
        let claim = self.claim_again(error).await?;
        self.state = claim.state;
        self.journal = Some(claim.journal);
        self.answering.clear();
        for result in results {
            self.decide(result.clone(), Some(result), None);
        }
        self.offer_unknown();
        self.take_answers().await
    }

    /// Everybody who waits is told; results of effects stay.
    fn fail_pending(&mut self, error: &StoreError) -> Vec<Command> {
        let mut results = Vec::new();
        for entry in self.pending.drain() {
            results.extend(entry.result);
            if let Some(reply) = entry.reply {
                // Whoever asked may have gone.
                let _ = reply.send(Err(CommandError::Store(error.clone())));
            }
        }
        results
    }

    /// The project once more. A disk that is full or away is waited for, visibly.
    async fn claim_again(&mut self, mut error: StoreError) -> Result<Claim, StoreError> {
        let mut wait = WAIT_FIRST;
        let mut waited = false;
        loop {
            if passes(&error) {
                waited = true;
                let until = self.setup.clock.now() + wait;
                let message = Arc::from(error.to_string());
                let _ = self.handle.notices.send(Notice::StoreWaiting { message, until });
                self.setup.clock.until(until).await;
                wait = Span::from_millis(wait.as_millis() * 2).min(WAIT_MAX);
            }
            match self.setup.store.claim(&self.setup.project, &self.setup.holder).await {
                Ok(claim) => {
                    if waited {
                        let _ = self.handle.notices.send(Notice::StoreBack);
                    }
                    return Ok(claim);
                }
                Err(next) if passes(&next) => error = next,
                Err(next) => return Err(next),
            }
        }
    }

    /// Effects that are owed but were never let go, because the news of their durability was lost.
    fn offer_unknown(&mut self) {
        for effect in self.state.outstanding() {
            if !self.work.knows(effect.id)
                && !self.leftover.contains(&effect.id)
                && let Some(order) = self.order(effect)
            {
                self.work.perform(order);
            }
        }
    }
}

/// Whether it gets better by itself.
const fn passes(error: &StoreError) -> bool {
    matches!(error, StoreError::Full { .. } | StoreError::Unavailable { .. })
}

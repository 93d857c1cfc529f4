//! Answers of the operator: rows in the store that become commands, in the order in which they were
//! given.

use unstuck_core::engine::Command;
use unstuck_store::{Answer, Batch, StoreError};

use crate::runner::Runner;

impl Runner {
    /// Turns answers that have not been processed yet into commands.
    pub(crate) async fn take_answers(&mut self) -> Result<(), StoreError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        for answer in journal.load_pending_answers().await? {
            self.take_answer(answer);
        }
        Ok(())
    }

    /// Marks the answer as taken in the same transaction as the events that follow from it. An
    /// answer that no longer fits, because its question was withdrawn meanwhile, leads to no event.
    fn take_answer(&mut self, answer: Answer) {
        let Answer { question, decision, guidance, by, .. } = answer;
        if !self.answering.insert(question) {
            return;
        }
        let decided = self.apply_command(Command::Answer { question, decision, guidance, by });
        let mut batch = decided.unwrap_or_else(|rejected| {
            tracing::info!(%question, %rejected, "an answer came too late");
            Batch::default()
        });
        batch.taken.push(question);
        self.append_batch(batch, None, None);
    }
}

//! People's answers: rows in the store that become commands, in the order they were given.

use unstuck_core::engine::Command;
use unstuck_store::{Answer, Batch, StoreError};

use crate::runner::Runner;

impl Runner {
    /// Takes up the answers nobody has taken up yet.
    pub(crate) async fn take_answers(&mut self) -> Result<(), StoreError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        for answer in journal.answers().await? {
            self.take_answer(answer);
        }
        Ok(())
    }

    /// The answer is marked as taken in the same transaction as what it led to. One that no longer
    /// fits, because its question was withdrawn meanwhile, leads to nothing.
    fn take_answer(&mut self, answer: Answer) {
        let Answer { question, decision, guidance, by, .. } = answer;
        if !self.answering.insert(question) {
            return;
        }
        let decided = self.decided(Command::Answer { question, decision, guidance, by });
        let mut batch = decided.unwrap_or_else(|rejected| {
            tracing::info!(%question, %rejected, "an answer came too late");
            Batch::default()
        });
        batch.taken.push(question);
        self.write(batch, None, None);
    }
}

//! Checkpoints: snapshots of an agent's conversation, written in the same transaction as the
//! progress they belong to.
//!
//! The worker that performs an attempt sends a checkpoint after each round, and reads the latest
//! one from the store (`Store::checkpoint`) when it resumes an attempt that another process began.

use tokio::sync::oneshot;
use unstuck_core::engine::{Command, EffectId, ProgressReport, State, TaskId};
use unstuck_store::{Checkpoint, StoredConversation};

use crate::handle::{CommandError, CommandReply, DurableDecision, LoopRequest, RunnerHandle};
use crate::runner::Runner;

impl RunnerHandle {
    /// Records progress of the attempt behind `effect` together with its conversation so far.
    /// Returns once both are on disk, so a later crash loses neither.
    pub async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<DurableDecision, CommandError> {
        let (reply, decided) = oneshot::channel();
        self.send_request(LoopRequest::Checkpoint { effect, report, conversation, reply }).await?;
        decided.await.map_err(|_| CommandError::Ended)?
    }
}

impl Runner {
    pub(crate) fn record_checkpoint(
        &mut self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
        reply: CommandReply,
    ) {
        // Read before the decision, because the progress may end the effect.
        let task = find_effect_task(&self.state, effect);
        match self.apply_command(Command::Progress { effect, report }) {
            Ok(mut batch) => {
                batch.checkpoint = task.map(|task| Checkpoint { task, conversation });
                self.append_batch(batch, None, Some(reply));
            }
            Err(rejected) => self.queue_refusal(rejected, Some(reply)),
        }
    }
}

/// Returns the task of the run that owes an effect.
pub(crate) fn find_effect_task(state: &State, effect: EffectId) -> Option<TaskId> {
    state.effect(effect).map(|effect| effect.task)
}

//! Checkpoints: snapshots of an agent's conversation, written in the same transaction as the
//! progress they belong to.
//!
//! The worker that performs an attempt sends a checkpoint after each round, and reads the latest
//! one from the store (`Store::checkpoint`) when it resumes an attempt that another process began.

use tokio::sync::oneshot;
use unstuck_core::engine::{Command, EffectId, Progress, State, TaskId};
use unstuck_store::{Checkpoint, Conversation};

use crate::handle::{CommandError, Decided, Handle, Reply, Request};
use crate::runner::Runner;

impl Handle {
    /// Records progress of the attempt behind `effect` together with its conversation so far.
    /// Returns once both are on disk, so a later crash loses neither.
    pub async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Decided, CommandError> {
        let (reply, decided) = oneshot::channel();
        self.ask(Request::Checkpoint { effect, report, conversation, reply }).await?;
        decided.await.map_err(|_| CommandError::Ended)?
    }
}

impl Runner {
    pub(crate) fn checkpoint(
        &mut self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
        reply: Reply,
    ) {
        // Read before the decision, because the progress may end the effect.
        let task = task_of(&self.state, effect);
        match self.decided(Command::Progress { effect, report }) {
            Ok(mut batch) => {
                batch.checkpoint = task.map(|task| Checkpoint { task, conversation });
                self.write(batch, None, Some(reply));
            }
            Err(rejected) => self.refuse(rejected, Some(reply)),
        }
    }
}

/// Returns the task of the run that owes an effect.
pub(crate) fn task_of(state: &State, effect: EffectId) -> Option<TaskId> {
    state.effect(effect).map(|effect| effect.task)
}

//! Checkpoints: how far a conversation has come, durable together with the progress it stands for.
//!
//! Whoever performs an attempt hands one in after each round, and reads the latest from the store
//! (`Store::checkpoint`) when it is asked to go on where somebody else stopped.

use tokio::sync::oneshot;
use unstuck_core::engine::{Command, EffectId, Progress, State, TaskId};
use unstuck_store::{Checkpoint, Conversation};

use crate::handle::{CommandError, Decided, Handle, Reply, Request};
use crate::runner::Runner;

impl Handle {
    /// The attempt behind `effect` got on, and its conversation has come this far. Returns when both
    /// are on disk: a crash after that costs nothing of it.
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
        // Before it is decided: the progress may end what it is owed for.
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

/// The task of the run that owes an effect.
pub(crate) fn task_of(state: &State, effect: EffectId) -> Option<TaskId> {
    state.effect(effect).map(|effect| effect.task)
}

//! The decider, as workers see it: the [`Runner`](crate::Runner) in this process, or the holder of
//! the project at the other end of its socket.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use unstuck_core::engine::{
    Command, CommandRejection, EffectId, ProgressReport, RecordedEvent, TaskState,
};
use unstuck_core::fault::Fault;
use unstuck_core::plan::MutationSpec;
use unstuck_store::StoredConversation;
use unstuck_store::tables::TaskRow;

use super::state_query::{StateQuery, StateQueryResult};
use crate::event_loop::{CommandError, RunnerHandle};
use crate::ledger::{ActionResult, LedgerAction};

/// A decider of commands: a [`RunnerHandle`], a [`ControlClient`](crate::control::ControlClient),
/// or a [`DeciderSuccession`] of either.
#[async_trait]
pub trait Decider: Send + Sync {
    /// Submits a command, and waits until the decision is on disk.
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError>;

    /// Records progress of an attempt together with its conversation so far.
    async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError>;

    /// Queries the state of the project.
    async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, DecideError>;

    /// Performs an irreversible action of an attempt or execution through the ledger.
    async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, DecideError>;
}

/// The reason for which there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The effect that the command is about is no longer awaited.
    #[error("the result is no longer awaited")]
    Stale,
    /// The command does not fit the state of the project.
    #[error("{0}")]
    Refused(String),
    /// The idempotency key was used before, for another action.
    #[error("{0}")]
    KeyReused(String),
    /// The key of the request was used before, for a request with other content.
    #[error("{0}")]
    RequestReused(String),
    /// The decision could not be written to the store.
    #[error("{0}")]
    Store(Box<Fault>),
    /// The decider has ended, or the connection to it is lost.
    #[error("the holder of the project has ended")]
    Ended,
}

#[async_trait]
impl Decider for RunnerHandle {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        Ok(self.submit_command(command).await?.events.to_vec())
    }

    async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        Ok(self.record_checkpoint(effect, report, conversation).await?.events.to_vec())
    }

    async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, DecideError> {
        Ok(self.read_state(move |state| look.answer_from(state)).await?)
    }

    async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, DecideError> {
        Ok(self.perform_action(effect, spec, action).await?)
    }
}

impl From<CommandError> for DecideError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(CommandRejection::Stale(_)) => Self::Stale,
            CommandError::Rejected(reused @ CommandRejection::KeyReused(_)) => {
                Self::KeyReused(reused.to_string())
            }
            CommandError::Rejected(reused @ CommandRejection::RequestReused(_)) => {
                Self::RequestReused(reused.to_string())
            }
            CommandError::Rejected(rejected) => Self::Refused(rejected.to_string()),
            CommandError::Store(error) => Self::Store(Box::new(error.to_fault())),
            CommandError::Ended => Self::Ended,
        }
    }
}

/// Successive deciders: when the holder of the project ends, the next holder decides about the
/// effects that are performed in this process.
///
/// A request that a holder left undecided when it ended is sent to the next one; a decision that the
/// holder recorded without a reply is recognized by its effect or key.
#[derive(Clone, Default)]
pub struct DeciderSuccession(watch::Sender<CurrentDecider>);

#[derive(Clone, Default)]
struct CurrentDecider {
    /// The current decider, once there is one.
    decider: Option<Arc<dyn Decider>>,
    /// Set when no further decider follows.
    is_last: bool,
}

impl DeciderSuccession {
    /// Makes `next` the current decider.
    pub fn set_decider(&self, next: Arc<dyn Decider>) {
        self.0.send_replace(CurrentDecider { decider: Some(next), is_last: false });
    }

    /// Makes the current decider the last one: requests it leaves undecided fail.
    pub fn close(&self) {
        self.0.send_modify(|line| line.is_last = true);
    }

    async fn ask_decider<T, A>(&self, ask: impl Fn(Arc<dyn Decider>) -> A) -> Result<T, DecideError>
    where
        A: Future<Output = Result<T, DecideError>>,
    {
        let mut deciders = self.0.subscribe();
        loop {
            let CurrentDecider { decider, is_last } = deciders.borrow_and_update().clone();
            if let Some(decider) = decider {
                match ask(decider).await {
                    Err(DecideError::Ended) => {}
                    answer => return answer,
                }
            }
            if is_last {
                return Err(DecideError::Ended);
            }
            // Cannot fail: this struct owns the sender.
            let _ = deciders.changed().await;
        }
    }
}

#[async_trait]
impl Decider for DeciderSuccession {
    async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        self.ask_decider(|decider| {
            let command = command.clone();
            async move { decider.submit_command(command).await }
        })
        .await
    }

    async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<Arc<RecordedEvent>>, DecideError> {
        self.ask_decider(|decider| {
            let conversation = conversation.clone();
            async move { decider.record_checkpoint(effect, report, conversation).await }
        })
        .await
    }

    async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, DecideError> {
        self.ask_decider(|decider| {
            let look = look.clone();
            async move { decider.query_state(look).await }
        })
        .await
    }

    async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, DecideError> {
        self.ask_decider(|decider| {
            let spec = spec.clone();
            let action = Arc::clone(&action);
            async move { decider.perform_action(effect, spec, action).await }
        })
        .await
    }
}

/// Returns the commands that end the waits of these tasks: one per gate, however many tasks wait
/// for it.
pub fn collect_kick_commands<'r>(rows: impl IntoIterator<Item = &'r TaskRow>) -> Vec<Command> {
    let mut gates = BTreeSet::new();
    let mut commands = Vec::new();
    for row in rows {
        match row.moved.state {
            TaskState::BackingOff { gate: Some(gate), .. } if gates.insert(gate) => {
                commands.push(Command::KickGate { gate });
            }
            TaskState::BackingOff { gate: None, .. } => {
                commands.push(Command::Kick { task: row.id });
            }
            _ => {}
        }
    }
    commands
}

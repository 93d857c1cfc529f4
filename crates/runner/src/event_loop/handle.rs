//! The [`RunnerHandle`]: requests of other tasks and processes to the loop, and its notices to
//! watchers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{broadcast, mpsc, oneshot};
use unstuck_core::engine::{
    Command, CommandRejection, EffectId, ProgressReport, RecordedEvent, State,
};
use unstuck_core::time::Time;
use unstuck_store::{StoreError, StoredConversation};

use crate::effects::{PerformScope, Performer};

pub(super) enum LoopRequest {
    Command {
        command: Box<Command>,
        reply: CommandReply,
    },
    Checkpoint {
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
        reply: CommandReply,
    },
    Attach(AttachRequest),
    Detach {
        attachment: u64,
        clean: bool,
    },
    Look(Box<dyn FnOnce(&State) + Send>),
    Answers {
        reply: CommandReply,
    },
    Shutdown {
        now: bool,
    },
}

/// A request of a worker to perform the effects of `scope`.
pub(super) struct AttachRequest {
    pub(super) scope: PerformScope,
    pub(super) performer: Arc<dyn Performer>,
    /// Set if the worker waits in line while the scope is taken.
    pub(super) waits: bool,
    /// The number of the attachment; `None` if another worker has the scope.
    pub(super) attached: oneshot::Sender<Option<u64>>,
}

pub(super) type CommandReply = oneshot::Sender<Result<DurableDecision, CommandError>>;

/// A decision that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurableDecision {
    /// The events that were decided.
    pub events: Arc<[Arc<RecordedEvent>]>,
}

/// The reason for which a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command does not fit the state of the project.
    #[error(transparent)]
    Rejected(#[from] CommandRejection),
    /// The decision could not be written, so it has no effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The loop has ended.
    #[error("the runner has ended")]
    Ended,
}

/// A handle of the loop, by which commands are submitted. All clones address the same loop.
#[derive(Clone, Debug)]
pub struct RunnerHandle {
    pub(super) requests: mpsc::Sender<LoopRequest>,
    pub(super) notices: broadcast::Sender<RunnerNotice>,
    /// Number of decisions that are not durable yet.
    pub(super) unwritten: Arc<AtomicUsize>,
    /// Set when the loop accepts no new requests.
    pub(super) closing: Arc<AtomicBool>,
}

impl RunnerHandle {
    /// Submits a command, and waits until the decision is on disk.
    pub async fn submit_command(&self, command: Command) -> Result<DurableDecision, CommandError> {
        let (reply, decided) = oneshot::channel();
        self.send_request(LoopRequest::Command { command: Box::new(command), reply }).await?;
        decided.await.map_err(|_| CommandError::Ended)?
    }

    /// Attaches `performer` as the worker for the effects of `scope`, including those that wait
    /// already, and returns the number of the attachment for [`detach`](Self::detach_performer). A build or
    /// task has one worker at a time: further ones wait for their turn.
    pub async fn attach_performer(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
    ) -> Result<u64, CommandError> {
        self.send_attach_request(scope, performer, true).await?.ok_or(CommandError::Ended)
    }

    /// Attaches like [`attach`](Self::attach_performer) without waiting; `None` if another worker has the
    /// scope.
    pub async fn try_attach_performer(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
    ) -> Result<Option<u64>, CommandError> {
        self.send_attach_request(scope, performer, false).await
    }

    async fn send_attach_request(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
        waits: bool,
    ) -> Result<Option<u64>, CommandError> {
        let (attached, number) = oneshot::channel();
        self.send_request(LoopRequest::Attach(AttachRequest { scope, performer, waits, attached }))
            .await?;
        number.await.map_err(|_| CommandError::Ended)
    }

    /// Detaches a worker that is gone together with the effects it was performing.
    pub async fn detach_performer(&self, attachment: u64) -> Result<(), CommandError> {
        self.send_request(LoopRequest::Detach { attachment, clean: false }).await
    }

    /// Detaches a worker that leaves properly: its effects have been ended, and their runs do not
    /// count as crashes.
    pub async fn detach_cleanly(&self, attachment: u64) -> Result<(), CommandError> {
        self.send_request(LoopRequest::Detach { attachment, clean: true }).await
    }

    /// Reads the state of the project, which may be a moment ahead of the disk.
    pub async fn read_state<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, seen) = oneshot::channel();
        let look = move |state: &State| {
            // The caller may be gone.
            let _ = reply.send(look(state));
        };
        self.send_request(LoopRequest::Look(Box::new(look))).await?;
        seen.await.map_err(|_| CommandError::Ended)
    }

    /// Takes up the operator's answers, and waits until that is on disk.
    pub async fn take_answers(&self) -> Result<(), CommandError> {
        let (reply, taken) = oneshot::channel();
        self.send_request(LoopRequest::Answers { reply }).await?;
        taken.await.map_err(|_| CommandError::Ended)?.map(drop)
    }

    /// Subscribes to notices from now on. A slow reader is told how many it missed.
    pub fn subscribe_notices(&self) -> broadcast::Receiver<RunnerNotice> {
        self.notices.subscribe()
    }

    /// Returns whether all requests are decided and on disk.
    pub fn is_idle(&self) -> bool {
        self.requests.capacity() == self.requests.max_capacity()
            && self.unwritten.load(Ordering::Acquire) == 0
    }

    /// Returns whether the loop is ending and accepts no new requests.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.requests.is_closed()
    }

    /// Ends the loop: effects that cannot be interrupted are finished and recorded, all others are
    /// stopped. With `now` the loop ends without waiting for either.
    pub async fn shut_down(&self, now: bool) {
        // An error means that the loop has ended already.
        let _ = self.send_request(LoopRequest::Shutdown { now }).await;
    }

    pub(super) async fn send_request(&self, request: LoopRequest) -> Result<(), CommandError> {
        self.requests.send(request).await.map_err(|_| CommandError::Ended)
    }

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

/// A notice: an event became durable, or the store cannot write at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerNotice {
    /// An event is durable.
    Event {
        /// The recorded event.
        recorded: Arc<RecordedEvent>,
        /// The event in one plain sentence, if it is of interest to the operator.
        narration: Option<Arc<str>>,
    },
    /// The store cannot write at the moment; no effect is performed until it can.
    StoreWaiting {
        /// The store's error message.
        message: Arc<str>,
        /// The time of the next try.
        until: Time,
    },
    /// The store works again.
    StoreBack,
    /// The worker of a build has left, and the build may be without one now.
    Left,
    /// The reader was too slow and missed notices: it continues from the store.
    Gap,
}

//! How everybody else talks to the loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{broadcast, mpsc, oneshot};
use unstuck_core::engine::{Command, EffectId, Progress, Recorded, Rejected, State};
use unstuck_store::{Conversation, StoreError};

use crate::notice::Notice;
use crate::world::{Scope, World};

/// What the loop is asked.
pub(crate) enum Request {
    Command { command: Box<Command>, reply: Reply },
    Checkpoint { effect: EffectId, report: Progress, conversation: Conversation, reply: Reply },
    Attach(Attach),
    Detach { attachment: u64, clean: bool },
    Look(Box<dyn FnOnce(&State) + Send>),
    Answers { reply: Reply },
    Shutdown { now: bool },
}

/// Somebody who wants to perform the effects of `scope`.
pub(crate) struct Attach {
    pub(crate) scope: Scope,
    pub(crate) world: Arc<dyn World>,
    /// Whether they wait for their turn.
    pub(crate) waits: bool,
    /// The number of the attachment; none if somebody else has the scope.
    pub(crate) attached: oneshot::Sender<Option<u64>>,
}

pub(crate) type Reply = oneshot::Sender<Result<Decided, CommandError>>;

/// A decision that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Its events.
    pub events: Arc<[Arc<Recorded>]>,
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It does not fit the state of things.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// It could not be remembered, so nothing happened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The loop has ended.
    #[error("the runner has ended")]
    Ended,
}

/// A way to talk to the loop. Clones talk to the same one.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) requests: mpsc::Sender<Request>,
    pub(crate) notices: broadcast::Sender<Notice>,
    /// Decisions that are on their way to the disk.
    pub(crate) unwritten: Arc<AtomicUsize>,
    /// Nothing new is taken on.
    pub(crate) closing: Arc<AtomicBool>,
}

impl Handle {
    /// Has a command decided, and waits until the decision is on disk.
    pub async fn command(&self, command: Command) -> Result<Decided, CommandError> {
        let (reply, decided) = oneshot::channel();
        self.ask(Request::Command { command: Box::new(command), reply }).await?;
        decided.await.map_err(|_| CommandError::Ended)?
    }

    /// Performs the effects of `scope` from now on, those that wait already included. The number
    /// ends it again. A build or task is performed by one at a time: others wait for their turn.
    pub async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<u64, CommandError> {
        self.ask_to_attach(scope, world, true).await?.ok_or(CommandError::Ended)
    }

    /// The same without waiting: none if somebody else performs it.
    pub async fn try_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
    ) -> Result<Option<u64>, CommandError> {
        self.ask_to_attach(scope, world, false).await
    }

    async fn ask_to_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
        waits: bool,
    ) -> Result<Option<u64>, CommandError> {
        let (attached, number) = oneshot::channel();
        self.ask(Request::Attach(Attach { scope, world, waits, attached })).await?;
        number.await.map_err(|_| CommandError::Ended)
    }

    /// Whoever attached with this number is gone, and what they were doing with them.
    pub async fn detach(&self, attachment: u64) -> Result<(), CommandError> {
        self.ask(Request::Detach { attachment, clean: false }).await
    }

    /// Whoever attached with this number leaves properly: what they were doing is ended, and
    /// nobody is to blame for it.
    pub async fn leave(&self, attachment: u64) -> Result<(), CommandError> {
        self.ask(Request::Detach { attachment, clean: true }).await
    }

    /// Looks at the state of the project. It may be a moment ahead of the disk.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, seen) = oneshot::channel();
        let look = move |state: &State| {
            // Whoever asked may have gone.
            let _ = reply.send(look(state));
        };
        self.ask(Request::Look(Box::new(look))).await?;
        seen.await.map_err(|_| CommandError::Ended)
    }

    /// Takes up the answers that people gave, and waits until that is on disk.
    pub async fn take_answers(&self) -> Result<(), CommandError> {
        let (reply, taken) = oneshot::channel();
        self.ask(Request::Answers { reply }).await?;
        taken.await.map_err(|_| CommandError::Ended)?.map(drop)
    }

    /// What happens from now on. A reader that is too slow is told how much it missed.
    pub fn watch(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Whether everything that was asked is decided and on disk.
    pub fn is_idle(&self) -> bool {
        self.requests.capacity() == self.requests.max_capacity()
            && self.unwritten.load(Ordering::Acquire) == 0
    }

    /// Whether the loop is coming to its end and takes nothing new on.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.requests.is_closed()
    }

    /// Ends the loop: what cannot be interrupted is finished and recorded, everything else is
    /// ended. With `now` nothing is waited for.
    pub async fn shut_down(&self, now: bool) {
        // A loop that has ended needs no ending.
        let _ = self.ask(Request::Shutdown { now }).await;
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<(), CommandError> {
        self.requests.send(request).await.map_err(|_| CommandError::Ended)
    }
}

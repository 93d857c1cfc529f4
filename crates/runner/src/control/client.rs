//! The client's end of the control socket: a process that talks to the holder of the project.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, Effect, EffectId, Progress, Recorded, TaskId};
use unstuck_core::plan::MutationSpec;
use unstuck_store::{Conversation, Holder};
use unstuck_world::process::SocketPath;

use super::blame::Stated;
use super::lines::next_line;
use super::wire::{Ask, LINE_BYTES_MAX, Refusal, Say, What};
use crate::decider::{Look, Looked};
use crate::ledger::{Action, Settled};
use crate::lock::lock;
use crate::notice::Notice;
use crate::world::{Order, Scope, World};

/// Maximum number of notices that a slow reader may be behind.
const NOTICES_MAX: usize = 1_024;

/// Maximum time for a holder to answer the first request.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// The reason for which a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The holder refused the request.
    #[error("{message}")]
    Refused {
        /// The kind of refusal.
        why: Refusal,
        /// The reason in words.
        message: String,
    },
    /// The holder is gone.
    #[error("the process that held the project has ended")]
    Gone,
}

/// A connection to the holder of the project. Clones share it, and it is closed when the last of
/// them and of their tasks in progress is dropped.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    write: tokio::sync::Mutex<OwnedWriteHalf>,
    next: AtomicU64,
    waiting: Mutex<Option<BTreeMap<u64, oneshot::Sender<Say>>>>,
    worlds: Mutex<Vec<(Scope, Arc<dyn World>)>>,
    running: Mutex<BTreeMap<EffectId, CancellationToken>>,
    /// The actions of this process, by the id of their request.
    acts: Mutex<BTreeMap<u64, Arc<dyn Action>>>,
    notices: broadcast::Sender<Notice>,
    gone: CancellationToken,
    /// Cancelled when the connection has no user any more.
    unused: CancellationToken,
    belongs: OnceLock<Effect>,
}

impl Client {
    /// Connects, and returns the holder of the project. A child of a run presents its token. A
    /// holder that does not answer in time, because it is stopped or stuck, is an error.
    pub async fn connect(path: &Path, token: Option<String>) -> io::Result<(Self, Holder)> {
        let connected = tokio::time::timeout(HELLO_PATIENCE, Self::hello(path, token)).await;
        connected.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
    }

    async fn hello(path: &Path, token: Option<String>) -> io::Result<(Self, Holder)> {
        let short = SocketPath::of(path)?;
        let (read, write) = UnixStream::connect(short.as_path()).await?.into_split();
        let (notices, _) = broadcast::channel(NOTICES_MAX);
        let unused = CancellationToken::new();
        let client = Self(Arc::new(Shared {
            write: tokio::sync::Mutex::new(write),
            next: AtomicU64::new(1),
            waiting: Mutex::new(Some(BTreeMap::new())),
            worlds: Mutex::new(Vec::new()),
            running: Mutex::new(BTreeMap::new()),
            acts: Mutex::new(BTreeMap::new()),
            notices,
            gone: CancellationToken::new(),
            unused: unused.clone(),
            belongs: OnceLock::new(),
        }));
        let listening = Self::listen(Arc::downgrade(&client.0), BufReader::new(read));
        tokio::spawn(unused.run_until_cancelled_owned(listening));
        match client.ask(What::Hello { token }).await {
            Ok(Say::Done { holder: Some(holder), effect, .. }) => {
                if let Some(effect) = effect {
                    client.0.belongs.get_or_init(|| effect);
                }
                Ok((client, holder))
            }
            Ok(_) => Err(io::Error::from(io::ErrorKind::InvalidData)),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Returns the effect that a child of a run belongs to; `None` if its run has ended.
    pub fn belongs(&self) -> Option<&Effect> {
        self.0.belongs.get()
    }

    /// Submits a command; returns when the decision is on disk.
    pub async fn command(&self, command: Command) -> Result<Vec<Recorded>, ClientError> {
        self.decided(What::Command { command: Box::new(command) }).await
    }

    /// Records progress of an attempt that this process performs, together with its conversation so
    /// far; returns when both are on disk.
    pub async fn checkpoint(
        &self,
        effect: EffectId,
        report: Progress,
        conversation: Conversation,
    ) -> Result<Vec<Recorded>, ClientError> {
        self.decided(What::Checkpoint { effect, report, conversation }).await
    }

    async fn decided(&self, what: What) -> Result<Vec<Recorded>, ClientError> {
        match self.ask(what).await? {
            Say::Done { events, .. } => Ok(events),
            _ => Ok(Vec::new()),
        }
    }

    /// States the failure of a child's script, in case it ends without success.
    pub async fn fail(&self, stated: Stated) -> Result<(), ClientError> {
        self.ask(What::Fail(stated)).await.map(drop)
    }

    /// Performs an irreversible action of an attempt or execution in this process, when the holder
    /// says so.
    pub async fn mutate(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn Action>,
    ) -> Result<Settled, ClientError> {
        let id = self.next_id();
        lock(&self.0.acts).insert(id, action);
        let said = self.ask_as(id, What::Act { effect, mutation: Box::new(spec) }).await;
        lock(&self.0.acts).remove(&id);
        match said? {
            Say::Settled { settled, .. } => Ok(settled),
            _ => Err(ClientError::Gone),
        }
    }

    /// Queries the state of the project.
    pub async fn look(&self, look: Look) -> Result<Looked, ClientError> {
        match self.ask(What::Look { look }).await? {
            Say::Seen { seen, .. } => Ok(seen),
            _ => Err(ClientError::Gone),
        }
    }

    /// Makes the holder take up the answers in the store.
    pub async fn take_answers(&self) -> Result<(), ClientError> {
        self.ask(What::Answers).await.map(drop)
    }

    /// Attaches `world` as the worker for the effects of `scope`, as soon as no other worker has
    /// it.
    pub async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), ClientError> {
        self.ask_to_attach(scope, world, true).await
    }

    /// Attaches like [`attach`](Self::attach) without waiting, and returns whether the scope was
    /// free.
    pub async fn try_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
    ) -> Result<bool, ClientError> {
        match self.ask_to_attach(scope, world, false).await {
            Err(ClientError::Refused { why: Refusal::Taken, .. }) => Ok(false),
            attached => attached.map(|()| true),
        }
    }

    async fn ask_to_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
        waits: bool,
    ) -> Result<(), ClientError> {
        let performing = world.performing();
        // The first order may arrive before the response.
        lock(&self.0.worlds).push((scope.clone(), world));
        let attached = self.ask(What::Attach { scope, performing, waits }).await.map(drop);
        if attached.is_err() {
            lock(&self.0.worlds).pop();
        }
        attached
    }

    /// Detaches all workers of this process: their effects are ended, and their runs do not count
    /// as crashes.
    pub async fn leave(&self) -> Result<(), ClientError> {
        self.ask(What::Leave).await.map(drop)
    }

    /// Subscribes to notices from now on.
    pub async fn watch(&self) -> Result<broadcast::Receiver<Notice>, ClientError> {
        let notices = self.0.notices.subscribe();
        self.ask(What::Watch).await.map(|_| notices)
    }

    /// Waits until the holder is gone.
    pub async fn gone(&self) {
        self.0.gone.cancelled().await;
    }

    fn next_id(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn ask(&self, what: What) -> Result<Say, ClientError> {
        self.ask_as(self.next_id(), what).await
    }

    async fn ask_as(&self, id: u64, what: What) -> Result<Say, ClientError> {
        let line = line(&Ask { id, what })?;
        let (send, said) = oneshot::channel();
        match lock(&self.0.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, send),
            None => return Err(ClientError::Gone),
        };
        self.0.write.lock().await.write_all(&line).await.map_err(|_| ClientError::Gone)?;
        match said.await {
            Ok(Say::Refused { why, message, .. }) => Err(ClientError::Refused { why, message }),
            Ok(said) => Ok(said),
            Err(_) => Err(ClientError::Gone),
        }
    }

    /// Reads the holder's messages while the connection has a user: listening itself does not keep
    /// it open.
    async fn listen(connection: Weak<Shared>, mut lines: BufReader<OwnedReadHalf>) {
        while let Some(line) = next_line(&mut lines).await {
            let Some(client) = connection.upgrade().map(Self) else { return };
            match serde_json::from_slice::<Say>(&line) {
                Ok(said) => client.heard(said),
                // A newer holder may send messages that are unknown here.
                Err(error) => tracing::debug!(%error, "not understood"),
            }
        }
        if let Some(shared) = connection.upgrade() {
            // Dropping the senders tells waiting requests that no response will come.
            lock(&shared.waiting).take();
            shared.gone.cancel();
        }
    }

    fn heard(&self, said: Say) {
        match said {
            Say::Done { id, .. }
            | Say::Seen { id, .. }
            | Say::Settled { id, .. }
            | Say::Refused { id, .. } => {
                let waiting =
                    lock(&self.0.waiting).as_mut().and_then(|waiting| waiting.remove(&id));
                if let Some(waiting) = waiting {
                    let _ = waiting.send(said);
                }
            }
            Say::Perform(order) => self.perform(*order),
            Say::Act { act, idempotency_key, look_up } => self.act(act, idempotency_key, look_up),
            Say::Stop(effect) => {
                if let Some(stop) = lock(&self.0.running).get(&effect) {
                    stop.cancel();
                }
            }
            Say::Clear { tasks } => self.clear(tasks),
            Say::Event { recorded, narration } => {
                let narration = narration.map(Arc::from);
                let recorded = Arc::from(recorded);
                let _ = self.0.notices.send(Notice::Event { recorded, narration });
            }
            Say::Left => {
                let _ = self.0.notices.send(Notice::Left);
            }
            Say::Gap => {
                let _ = self.0.notices.send(Notice::Gap);
            }
        }
    }

    fn clear(&self, tasks: Vec<TaskId>) {
        let worlds: Vec<_> = lock(&self.0.worlds).iter().map(|(_, w)| Arc::clone(w)).collect();
        let client = self.clone();
        tokio::spawn(async move {
            for world in worlds {
                world.clear(&tasks).await;
            }
            // A holder that is gone recovers by itself.
            let _ = client.ask(What::Cleared { tasks }).await;
        });
    }

    fn act(&self, act: u64, idempotency_key: String, look_up: bool) {
        let Some(action) = lock(&self.0.acts).get(&act).cloned() else { return };
        let client = self.clone();
        tokio::spawn(async move {
            let outcome = if look_up {
                action.probe(&idempotency_key).await
            } else {
                action.call(&idempotency_key).await
            };
            // A holder that is gone looks up by itself what became of the action.
            let _ = client.ask(What::Acted { act, outcome }).await;
        });
    }

    fn perform(&self, order: Order) {
        let covering = lock(&self.0.worlds).iter().find(|(scope, _)| scope.covers(&order)).cloned();
        let Some((_, world)) = covering else { return };
        let effect = order.effect.id;
        let stop = CancellationToken::new();
        lock(&self.0.running).insert(effect, stop.clone());
        let client = self.clone();
        tokio::spawn(async move {
            let report = world.perform(order, stop).await;
            lock(&client.0.running).remove(&effect);
            // A holder that is gone recovers by itself.
            let _ = client.ask(What::Ended { effect, report }).await;
        });
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.unused.cancel();
    }
}

/// Serializes a request. A line that exceeds the limit is not sent, because the holder would treat
/// it as the end of the connection.
fn line(ask: &Ask) -> Result<Vec<u8>, ClientError> {
    let malformed = |message: String| ClientError::Refused { why: Refusal::Malformed, message };
    let mut line = serde_json::to_vec(ask).map_err(|error| malformed(error.to_string()))?;
    line.push(b'\n');
    match line.len() {
        0..=LINE_BYTES_MAX => Ok(line),
        bytes => Err(malformed(format!("{bytes} bytes are too much to say at once"))),
    }
}

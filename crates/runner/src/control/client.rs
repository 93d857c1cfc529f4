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
use unstuck_core::engine::{Command, Effect, EffectId, ProgressReport, RecordedEvent, TaskId};
use unstuck_core::plan::MutationSpec;
use unstuck_store::{Holder, StoredConversation};
use unstuck_world::process::SocketPath;

use super::script_failure::ScriptFailure;
use super::wire::{
    ControlRefusal, ControlRequest, ControlRequestBody, ControlResponse, LINE_BYTES_MAX, next_line,
};
use crate::decider::{StateQuery, StateQueryResult};
use crate::effects::{EffectRequest, PerformScope, Performer, lock_unpoisoned};
use crate::event_loop::RunnerNotice;
use crate::ledger::{ActionResult, LedgerAction};

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
        why: ControlRefusal,
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
pub struct ControlClient(Arc<ClientConnection>);

struct ClientConnection {
    write: tokio::sync::Mutex<OwnedWriteHalf>,
    next: AtomicU64,
    waiting: Mutex<Option<BTreeMap<u64, oneshot::Sender<ControlResponse>>>>,
    performers: Mutex<Vec<(PerformScope, Arc<dyn Performer>)>>,
    running: Mutex<BTreeMap<EffectId, CancellationToken>>,
    /// The actions of this process, by the id of their request.
    acts: Mutex<BTreeMap<u64, Arc<dyn LedgerAction>>>,
    notices: broadcast::Sender<RunnerNotice>,
    gone: CancellationToken,
    /// Cancelled when the connection has no user any more.
    unused: CancellationToken,
    belongs: OnceLock<Effect>,
}

impl ControlClient {
    /// Connects, and returns the holder of the project. A child of a run presents its token. A
    /// holder that does not answer in time, because it is stopped or stuck, is an error.
    pub async fn connect(path: &Path, token: Option<String>) -> io::Result<(Self, Holder)> {
        let connected =
            tokio::time::timeout(HELLO_PATIENCE, Self::open_connection(path, token)).await;
        connected.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut)))
    }

    async fn open_connection(path: &Path, token: Option<String>) -> io::Result<(Self, Holder)> {
        let short = SocketPath::from_path(path)?;
        let (read, write) = UnixStream::connect(short.as_path()).await?.into_split();
        let (notices, _) = broadcast::channel(NOTICES_MAX);
        let unused = CancellationToken::new();
        let client = Self(Arc::new(ClientConnection {
            write: tokio::sync::Mutex::new(write),
            next: AtomicU64::new(1),
            waiting: Mutex::new(Some(BTreeMap::new())),
            performers: Mutex::new(Vec::new()),
            running: Mutex::new(BTreeMap::new()),
            acts: Mutex::new(BTreeMap::new()),
            notices,
            gone: CancellationToken::new(),
            unused: unused.clone(),
            belongs: OnceLock::new(),
        }));
        let listening = Self::read_messages(Arc::downgrade(&client.0), BufReader::new(read));
        tokio::spawn(unused.run_until_cancelled_owned(listening));
        match client.send_request(ControlRequestBody::Hello { token }).await {
            Ok(ControlResponse::Done { holder: Some(holder), effect, .. }) => {
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
    pub fn own_effect(&self) -> Option<&Effect> {
        self.0.belongs.get()
    }

    /// Submits a command; returns when the decision is on disk.
    pub async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, ClientError> {
        self.request_decision(ControlRequestBody::Command { command: Box::new(command) }).await
    }

    /// Records progress of an attempt that this process performs, together with its conversation so
    /// far; returns when both are on disk.
    pub async fn record_checkpoint(
        &self,
        effect: EffectId,
        report: ProgressReport,
        conversation: StoredConversation,
    ) -> Result<Vec<RecordedEvent>, ClientError> {
        self.request_decision(ControlRequestBody::Checkpoint { effect, report, conversation }).await
    }

    async fn request_decision(
        &self,
        what: ControlRequestBody,
    ) -> Result<Vec<RecordedEvent>, ClientError> {
        match self.send_request(what).await? {
            ControlResponse::Done { events, .. } => Ok(events),
            _ => Err(ClientError::Gone),
        }
    }

    /// States the failure of a child's script, in case it ends without success.
    pub async fn report_failure(&self, stated: ScriptFailure) -> Result<(), ClientError> {
        self.send_request(ControlRequestBody::Fail(stated)).await.map(drop)
    }

    /// Performs an irreversible action of an attempt or execution in this process, when the holder
    /// says so.
    pub async fn perform_action(
        &self,
        effect: EffectId,
        spec: MutationSpec,
        action: Arc<dyn LedgerAction>,
    ) -> Result<ActionResult, ClientError> {
        let id = self.next_id();
        lock_unpoisoned(&self.0.acts).insert(id, action);
        let said = self
            .send_request_as(id, ControlRequestBody::Act { effect, mutation: Box::new(spec) })
            .await;
        lock_unpoisoned(&self.0.acts).remove(&id);
        match said? {
            ControlResponse::Settled { settled, .. } => Ok(settled),
            _ => Err(ClientError::Gone),
        }
    }

    /// Queries the state of the project.
    pub async fn query_state(&self, look: StateQuery) -> Result<StateQueryResult, ClientError> {
        match self.send_request(ControlRequestBody::Look { look }).await? {
            ControlResponse::Seen { seen, .. } => Ok(seen),
            _ => Err(ClientError::Gone),
        }
    }

    /// Returns the recorded result of an action of the own task that was performed before. `None`
    /// if there is none, or if the action has to be performed anew by each attempt.
    pub async fn find_result(&self, effect: &Effect, spec: &MutationSpec) -> Option<Arc<str>> {
        if spec.kind.belongs_to_attempt() {
            return None;
        }
        let look = StateQuery::Action { task: effect.task, key: spec.key.clone() };
        self.query_state(look).await.ok()?.into_text()
    }

    /// Makes the holder take up the answers in the store.
    pub async fn take_answers(&self) -> Result<(), ClientError> {
        self.send_request(ControlRequestBody::Answers).await.map(drop)
    }

    /// Attaches `performer` as the worker for the effects of `scope`, as soon as no other worker has
    /// it.
    pub async fn attach_performer(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
    ) -> Result<(), ClientError> {
        self.send_attach_request(scope, performer, true).await
    }

    /// Attaches like [`attach`](Self::attach_performer) without waiting, and returns whether the scope was
    /// free.
    pub async fn try_attach_performer(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
    ) -> Result<bool, ClientError> {
        match self.send_attach_request(scope, performer, false).await {
            Err(ClientError::Refused { why: ControlRefusal::Taken, .. }) => Ok(false),
            attached => attached.map(|()| true),
        }
    }

    async fn send_attach_request(
        &self,
        scope: PerformScope,
        performer: Arc<dyn Performer>,
        waits: bool,
    ) -> Result<(), ClientError> {
        let performing = performer.running_effects();
        // The first order may arrive before the response.
        lock_unpoisoned(&self.0.performers).push((scope.clone(), performer));
        let attached = self
            .send_request(ControlRequestBody::Attach { scope, performing, waits })
            .await
            .map(drop);
        if attached.is_err() {
            lock_unpoisoned(&self.0.performers).pop();
        }
        attached
    }

    /// Detaches all workers of this process: their effects are ended, and their runs do not count
    /// as crashes.
    pub async fn detach_all(&self) -> Result<(), ClientError> {
        self.send_request(ControlRequestBody::Leave).await.map(drop)
    }

    /// Subscribes to notices from now on.
    pub async fn subscribe_notices(
        &self,
    ) -> Result<broadcast::Receiver<RunnerNotice>, ClientError> {
        let notices = self.0.notices.subscribe();
        self.send_request(ControlRequestBody::Watch).await.map(|_| notices)
    }

    /// Waits until the holder is gone.
    pub async fn wait_until_gone(&self) {
        self.0.gone.cancelled().await;
    }

    fn next_id(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn send_request(&self, what: ControlRequestBody) -> Result<ControlResponse, ClientError> {
        self.send_request_as(self.next_id(), what).await
    }

    async fn send_request_as(
        &self,
        id: u64,
        what: ControlRequestBody,
    ) -> Result<ControlResponse, ClientError> {
        let line = serialize_request(&ControlRequest { id, what })?;
        let (send, said) = oneshot::channel();
        match lock_unpoisoned(&self.0.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, send),
            None => return Err(ClientError::Gone),
        };
        self.0.write.lock().await.write_all(&line).await.map_err(|_| ClientError::Gone)?;
        match said.await {
            Ok(ControlResponse::Refused { why, message, .. }) => {
                Err(ClientError::Refused { why, message })
            }
            Ok(said) => Ok(said),
            Err(_) => Err(ClientError::Gone),
        }
    }

    /// Reads the holder's messages while the connection has a user: listening itself does not keep
    /// it open.
    async fn read_messages(
        connection: Weak<ClientConnection>,
        mut lines: BufReader<OwnedReadHalf>,
    ) {
        while let Some(line) = next_line(&mut lines).await {
            let Some(client) = connection.upgrade().map(Self) else { return };
            match serde_json::from_slice::<ControlResponse>(&line) {
                Ok(said) => client.handle_message(said),
                // A newer holder may send messages that are unknown here.
                Err(error) => tracing::debug!(%error, "not understood"),
            }
        }
        if let Some(shared) = connection.upgrade() {
            // Dropping the senders tells waiting requests that no response will come.
            lock_unpoisoned(&shared.waiting).take();
            shared.gone.cancel();
        }
    }

    fn handle_message(&self, said: ControlResponse) {
        match said {
            ControlResponse::Done { id, .. }
            | ControlResponse::Seen { id, .. }
            | ControlResponse::Settled { id, .. }
            | ControlResponse::Refused { id, .. } => {
                let waiting = lock_unpoisoned(&self.0.waiting)
                    .as_mut()
                    .and_then(|waiting| waiting.remove(&id));
                if let Some(waiting) = waiting {
                    let _ = waiting.send(said);
                }
            }
            ControlResponse::Perform(order) => self.perform_effect(*order),
            ControlResponse::Act { act, idempotency_key, look_up } => {
                self.perform_own_action(act, idempotency_key, look_up);
            }
            ControlResponse::Stop(effect) => {
                if let Some(stop) = lock_unpoisoned(&self.0.running).get(&effect) {
                    stop.cancel();
                }
            }
            ControlResponse::Clear { tasks } => self.reap_leftovers(tasks),
            ControlResponse::Event { recorded, narration } => {
                let narration = narration.map(Arc::from);
                let recorded = Arc::from(recorded);
                let _ = self.0.notices.send(RunnerNotice::Event { recorded, narration });
            }
            ControlResponse::Left => {
                let _ = self.0.notices.send(RunnerNotice::Left);
            }
            ControlResponse::Gap => {
                let _ = self.0.notices.send(RunnerNotice::Gap);
            }
        }
    }

    fn reap_leftovers(&self, tasks: Vec<TaskId>) {
        let performers: Vec<_> =
            lock_unpoisoned(&self.0.performers).iter().map(|(_, w)| Arc::clone(w)).collect();
        let client = self.clone();
        tokio::spawn(async move {
            for performer in performers {
                performer.reap_leftovers(&tasks).await;
            }
            // A holder that is gone recovers by itself.
            let _ = client.send_request(ControlRequestBody::Cleared { tasks }).await;
        });
    }

    fn perform_own_action(&self, act: u64, idempotency_key: String, look_up: bool) {
        let Some(action) = lock_unpoisoned(&self.0.acts).get(&act).cloned() else {
            tracing::warn!(act, "the holder asks for an action that is not offered here");
            return;
        };
        let client = self.clone();
        tokio::spawn(async move {
            let outcome = if look_up {
                action.probe_outcome(&idempotency_key).await
            } else {
                action.perform_call(&idempotency_key).await
            };
            // A holder that is gone looks up by itself what became of the action.
            let _ = client.send_request(ControlRequestBody::Acted { act, outcome }).await;
        });
    }

    fn perform_effect(&self, order: EffectRequest) {
        let covering = lock_unpoisoned(&self.0.performers)
            .iter()
            .find(|(scope, _)| scope.covers_request(&order))
            .cloned();
        let Some((_, performer)) = covering else {
            let effect = order.effect.id;
            tracing::warn!(%effect, "the holder asks for an effect that is not performed here");
            return;
        };
        let effect = order.effect.id;
        let stop = CancellationToken::new();
        lock_unpoisoned(&self.0.running).insert(effect, stop.clone());
        let client = self.clone();
        tokio::spawn(async move {
            let report = performer.perform_effect(order, stop).await;
            lock_unpoisoned(&client.0.running).remove(&effect);
            // A holder that is gone recovers by itself.
            let _ = client.send_request(ControlRequestBody::Ended { effect, report }).await;
        });
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        self.unused.cancel();
    }
}

/// Serializes a request. A line that exceeds the limit is not sent, because the holder would treat
/// it as the end of the connection.
fn serialize_request(ask: &ControlRequest) -> Result<Vec<u8>, ClientError> {
    let malformed =
        |message: String| ClientError::Refused { why: ControlRefusal::Malformed, message };
    let mut line = serde_json::to_vec(ask).map_err(|error| malformed(error.to_string()))?;
    line.push(b'\n');
    match line.len() {
        0..=LINE_BYTES_MAX => Ok(line),
        bytes => Err(malformed(format!("{bytes} bytes are too much to say at once"))),
    }
}

//! A holder that listens, and all the clients that may talk to it.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Command, EffectId, EffectOutcome, Event, TaskId, TaskState};
use unstuck_core::time::Time;
use unstuck_runner::control::{ControlClient, ControlServer, TokenKey};
use unstuck_runner::{EffectRequest, EffectResult, Performer, RunnerSetup};
use unstuck_store::{Holder, MemoryStore};
use unstuck_testkit::stage::{RunningProject, make_job, make_runner_setup};

pub(crate) struct Stage {
    project: RunningProject,
    pub(crate) socket: PathBuf,
    pub(crate) key: TokenKey,
    _server: ControlServer,
    folder: Arc<TempDir>,
}

pub(crate) fn holder() -> Holder {
    Holder { pid: 7, verb: "test".into(), since: Time::from_millis(1) }
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::on(MemoryStore::new(), Arc::new(tempfile::tempdir().unwrap())).await
    }

    pub(crate) async fn with_client() -> (Self, ControlClient) {
        let stage = Self::new().await;
        let client = stage.client().await;
        (stage, client)
    }

    async fn on(store: MemoryStore, folder: Arc<TempDir>) -> Self {
        let socket = folder.path().join("control.sock");
        Self::at(store, folder, socket).await
    }

    pub(crate) async fn at(store: MemoryStore, folder: Arc<TempDir>, socket: PathBuf) -> Self {
        let shared = Arc::new(store.clone());
        let setup = RunnerSetup { holder: holder(), ..make_runner_setup(shared, "shop") };
        let project = RunningProject::start_with(store, setup).await;
        let key = TokenKey::open(&folder.path().join("token-key")).unwrap();
        let handle = project.handle.clone();
        let server = ControlServer::start(&socket, handle, key.clone(), holder()).unwrap();
        Self { project, socket, key, _server: server, folder }
    }

    /// The holder ends properly, and another one comes.
    pub(crate) async fn ended(self) -> Self {
        self.handle.shut_down(false).await;
        self.project.running.await.unwrap().unwrap();
        Self::on(self.project.store, self.folder).await
    }

    /// The holder dies, and another one comes.
    pub(crate) async fn crashed(self) -> Self {
        Self::on(self.project.crash().await, self.folder).await
    }

    pub(crate) async fn client(&self) -> ControlClient {
        ControlClient::connect(&self.socket, None).await.unwrap().0
    }

    /// A client with the token of a run.
    pub(crate) async fn child(&self, effect: EffectId) -> ControlClient {
        let token = self.key.issue_token(effect).as_str().to_owned();
        ControlClient::connect(&self.socket, Some(token)).await.unwrap().0
    }

    pub(crate) async fn line(&self) -> Line {
        Line(BufReader::new(UnixStream::connect(&self.socket).await.unwrap()))
    }

    /// Waits until a task is done.
    pub(crate) async fn done(&self, task: TaskId) {
        self.wait_until(move |state| state.task(task).unwrap().state == TaskState::Done).await;
    }

    /// The number of the task's lost runs.
    pub(crate) async fn crashes(&self, task: TaskId) -> u32 {
        self.look(move |state| state.task(task).unwrap().counters.crashes).await
    }
}

/// A new job.
pub(crate) async fn define(client: &ControlClient, name: &str) -> TaskId {
    let defined = client.submit_command(job(name)).await.unwrap();
    match &defined[0].event {
        Event::JobDefined { task, .. } => *task,
        event => panic!("{event:?}"),
    }
}

pub(crate) fn job(name: &str) -> Command {
    Command::DefineJob { spec: Arc::new(make_job(name)) }
}

/// A connection that is talked through by hand.
pub(crate) struct Line(BufReader<UnixStream>);

impl Line {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }

    /// The next line; none at the end.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).await.unwrap_or(0);
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Closes the half that is written to.
    pub(crate) async fn say_no_more(&mut self) {
        self.0.get_mut().shutdown().await.unwrap();
    }

    pub(crate) async fn ask(&mut self, ask: &str) -> Value {
        self.send(format!("{ask}\n").as_bytes()).await;
        self.hear().await.unwrap()
    }
}

/// Performs what it is given when it is let go, and tells what it was given.
pub(crate) struct Hand {
    pub(crate) go: Semaphore,
    pub(crate) cleared: Mutex<Vec<TaskId>>,
    pub(crate) performing: Mutex<Vec<EffectId>>,
    begun: mpsc::UnboundedSender<EffectRequest>,
    stopped: mpsc::UnboundedSender<EffectId>,
}

pub(crate) struct Told {
    pub(crate) begun: mpsc::UnboundedReceiver<EffectRequest>,
    pub(crate) stopped: mpsc::UnboundedReceiver<EffectId>,
}

pub(crate) fn hand() -> (Arc<Hand>, Told) {
    let (tell, begun) = mpsc::unbounded_channel();
    let (tell_stop, stopped) = mpsc::unbounded_channel();
    let hand = Hand {
        go: Semaphore::new(0),
        cleared: Mutex::default(),
        performing: Mutex::default(),
        begun: tell,
        stopped: tell_stop,
    };
    (Arc::new(hand), Told { begun, stopped })
}

#[async_trait]
impl Performer for Hand {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        stop: CancellationToken,
    ) -> Option<EffectResult> {
        let effect = order.effect.id;
        self.begun.send(order).ok();
        tokio::select! {
            permit = self.go.acquire() => {
                permit.unwrap().forget();
                Some(EffectOutcome::Done.into())
            }
            () = stop.cancelled() => {
                self.stopped.send(effect).ok();
                None
            }
        }
    }

    fn running_effects(&self) -> Vec<EffectId> {
        self.performing.lock().unwrap().clone()
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        self.cleared.lock().unwrap().extend(tasks);
    }
}

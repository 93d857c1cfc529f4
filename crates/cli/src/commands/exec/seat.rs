//! Where we sit: we hold the project and decide, or somebody else does and we perform our part.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Recorded};
use unstuck_core::policy::Policy;
use unstuck_runner::control::{Client, Server, TokenKey};
use unstuck_runner::{
    CommandError, Ended, Handle, Notice, Runner, Scope, Setup, SystemClock, World,
};
use unstuck_store::{Holder, Store, StoreError};

use crate::error::Error;
use crate::project::{Project, holder};

/// How often it is tried to reach a holder that is just coming or going.
const TRIES: u32 = 100;
/// Between two tries.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Where we sit.
pub(super) enum Seat {
    /// We hold the project.
    Holder {
        handle: Handle,
        running: JoinHandle<Ended>,
        notices: broadcast::Receiver<Notice>,
        _server: Server,
    },
    /// Somebody else does.
    Guest { client: Client, notices: broadcast::Receiver<Notice> },
}

/// What is heard.
pub(super) enum Heard {
    /// Something happened.
    Notice(Notice),
    /// Whoever held the project is gone.
    HolderGone,
}

impl Seat {
    /// Takes the project, or a place beside whoever has it.
    pub(super) async fn take(project: &Project, store: &Arc<dyn Store>) -> Result<Self, Error> {
        let mut tries = TRIES;
        loop {
            let setup = Setup {
                store: Arc::clone(store),
                project: Arc::clone(project.name()),
                holder: holder("exec"),
                policy: Arc::new(Policy::default()),
                clock: Arc::new(SystemClock),
                gates: Some(project.gates()),
            };
            match Runner::open(setup).await {
                Ok(runner) => return Self::hold(project, runner).await,
                Err(StoreError::Held(by)) => {
                    tries -= 1;
                    match Self::join(project).await {
                        Ok(seat) => return Ok(seat),
                        Err(source) if tries == 0 => {
                            return Err(Error::NoAnswer { holder: by, source });
                        }
                        // It is just coming or going.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn hold(project: &Project, runner: Runner) -> Result<Self, Error> {
        let handle = runner.handle();
        let unusable = |place: String| move |source| Error::Folder { place, source };
        let (key, socket) = (project.token_key(), project.socket());
        let token_key = TokenKey::open(&key).map_err(unusable(key.display().to_string()))?;
        let server = Server::start(&socket, handle.clone(), token_key, holder("exec"))
            .map_err(unusable(socket.display().to_string()))?;
        let notices = handle.watch();
        let running = tokio::spawn(runner.run());
        // What was answered while nobody was here counts before anything is looked at.
        handle.take_answers().await?;
        Ok(Self::Holder { handle, running, notices, _server: server })
    }

    async fn join(project: &Project) -> std::io::Result<Self> {
        let (client, _): (Client, Holder) = Client::connect(&project.socket(), None).await?;
        let notices = client.watch().await.map_err(std::io::Error::other)?;
        Ok(Self::Guest { client, notices })
    }

    /// Has a command decided; returns when that is on disk.
    pub(super) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        match self {
            Self::Holder { handle, .. } => {
                let decided = handle.command(command).await?;
                Ok(decided.events.iter().map(|recorded| (**recorded).clone()).collect())
            }
            Self::Guest { client, .. } => Ok(client.command(command).await?),
        }
    }

    /// Performs the effects of `scope` from now on.
    pub(super) async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), Error> {
        match self {
            Self::Holder { handle, .. } => {
                handle.attach(scope, world).await?;
            }
            Self::Guest { client, .. } => client.attach(scope, world).await?,
        }
        Ok(())
    }

    /// The next thing that is heard.
    pub(super) async fn hear(&mut self) -> Result<Heard, Error> {
        match self {
            Self::Holder { running, notices, .. } => tokio::select! {
                biased;
                notice = notices.recv() => Ok(Heard::Notice(notice.unwrap_or(Notice::Gap))),
                // It ends by itself only when the store is lost.
                ended = running => match ended {
                    Ok(Err(error)) => Err(error.into()),
                    _ => Err(CommandError::Ended.into()),
                },
            },
            Self::Guest { client, notices } => tokio::select! {
                biased;
                notice = notices.recv() => Ok(Heard::Notice(notice.unwrap_or(Notice::Gap))),
                () = client.gone() => Ok(Heard::HolderGone),
            },
        }
    }

    /// Ends what we have begun and lets it be recorded; with `now` without waiting for anything.
    pub(super) async fn stop(&self, now: bool) {
        if let Self::Holder { handle, .. } = self {
            handle.shut_down(now).await;
        }
    }

    /// Gets up properly: everything is on disk and the project is free.
    pub(super) async fn leave(self) -> Result<(), Error> {
        if let Self::Holder { handle, running, .. } = self {
            handle.shut_down(false).await;
            running.await.map_err(|_| CommandError::Ended)??;
        }
        Ok(())
    }
}

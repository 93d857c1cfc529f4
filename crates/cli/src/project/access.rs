//! Ways to the decider: taking the project, connecting to its holder, or reaching the holder from inside a
//! run.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, RecordedEvent};
use unstuck_runner::control::{ClientError, ControlClient, ControlRefusal};
use unstuck_runner::{CommandError, Runner, RunnerResult};
use unstuck_store::{Holder, Store, StoreError};
use unstuck_world::mcp::{DECLARABLE, SOCKET, TOKEN};
use unstuck_world::tool::DeclarationPolicy;

use super::connection::ProjectConnection;
use super::folder::{FOLDER, LocalProject};
use crate::error::{CliError, internal_fault};
use crate::settings::environment_variable;

/// Maximum number of further attempts to reach a holder.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// A connection for several commands, one after the other. Without a holder this process takes the project
/// for a moment and performs no effects; the next holder performs them.
pub(crate) struct CommandConnection {
    connection: ProjectConnection,
    decider: CommandDecider,
}

enum CommandDecider {
    /// The current process, with its loop.
    Own(JoinHandle<RunnerResult>),
    Other(Holder),
}

pub(crate) struct CommandEvents {
    pub(crate) events: Vec<RecordedEvent>,
    /// Set if another process holds the project and acts on the events.
    pub(crate) held: bool,
}

impl CommandConnection {
    /// Connects to the holder, or takes the project if there is none.
    pub(crate) async fn open(
        project: &LocalProject,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, CliError> {
        let join = || ProjectConnection::connect(project);
        Ok(match hold_or_connect(project, store, verb, join).await? {
            ProjectAccess::Ours(runner) => Self {
                connection: ProjectConnection::Holder(runner.handle()),
                decider: CommandDecider::Own(tokio::spawn(runner.run())),
            },
            ProjectAccess::Theirs((connection, holder)) => {
                Self { connection, decider: CommandDecider::Other(holder) }
            }
        })
    }

    /// Returns the other process that holds the project and performs the effects, if there is one.
    pub(crate) const fn other_holder(&self) -> Option<&Holder> {
        match &self.decider {
            CommandDecider::Own(_) => None,
            CommandDecider::Other(holder) => Some(holder),
        }
    }

    /// Sends a command; returns when its events are on disk.
    pub(crate) async fn submit_command(
        &self,
        command: Command,
    ) -> Result<Vec<RecordedEvent>, CliError> {
        self.connection.submit_command(command).await
    }

    /// Releases the project, if this process holds it.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        if let CommandDecider::Own(running) = self.decider {
            self.connection.end_work().await;
            running.await.map_err(|_| CommandError::Ended)??;
        }
        Ok(())
    }
}

/// Sends a command and returns once it is decided and durable.
pub(crate) async fn submit_command(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    verb: &str,
    command: Command,
) -> Result<CommandEvents, CliError> {
    let connection = CommandConnection::open(project, store, verb).await?;
    let decided = connection.submit_command(command).await;
    let held = connection.other_holder().is_some();
    connection.close().await?;
    Ok(CommandEvents { events: decided?, held })
}

/// Tells the holder that there is an answer, and returns whether it was reached. Without a holder, or while
/// it is ending, the next holder finds the answer, because the answer itself is in the store.
pub(crate) async fn take_answers(project: &LocalProject) -> Result<bool, CliError> {
    match ProjectConnection::connect(project).await {
        Ok((guest, _)) => guest.take_answers().await,
        Err(_) => Ok(false),
    }
}

/// Returns the holder, if it accepts a connection.
pub(crate) async fn current_holder(project: &LocalProject) -> Option<Holder> {
    ProjectConnection::connect(project).await.ok().map(|(_, holder)| holder)
}

/// The process that holds the project.
pub(super) enum ProjectAccess<T> {
    /// The current process.
    Ours(Box<Runner>),
    /// Another process, with a connection to it.
    Theirs(T),
}

/// Takes the project, or connects to its holder with `join`, with retries while the holder is starting or
/// ending.
pub(super) async fn hold_or_connect<T>(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    verb: &str,
    join: impl AsyncFn() -> io::Result<T>,
) -> Result<ProjectAccess<T>, CliError> {
    let mut attempts = ConnectAttempts::new();
    loop {
        let holder = match Runner::open(project.runner_setup(store, verb)?).await {
            Ok(runner) => return Ok(ProjectAccess::Ours(Box::new(runner))),
            Err(StoreError::Held(holder)) => holder,
            Err(error) => return Err(error.into()),
        };
        let source = match join().await {
            Ok(joined) => return Ok(ProjectAccess::Theirs(joined)),
            Err(source) => source,
        };
        if is_ending(&source) {
            attempts = ConnectAttempts::new();
        }
        attempts
            .wait_after(source)
            .await
            .map_err(|source| CliError::NoAnswer { holder, source })?;
    }
}

/// Returns whether a holder refused the connection because it is ending.
fn is_ending(error: &io::Error) -> bool {
    let refused = error.get_ref().and_then(|error| error.downcast_ref::<ClientError>());
    matches!(refused, Some(ClientError::Refused { why: ControlRefusal::Ended, .. }))
}

/// The attempts to reach a holder that is starting, ending or followed by another one.
struct ConnectAttempts {
    left: u32,
}

impl ConnectAttempts {
    const fn new() -> Self {
        Self { left: TRIES }
    }

    /// Waits for the next attempt after one that failed; returns the error if that was the last one, or if
    /// the holder is stuck.
    async fn wait_after(&mut self, failure: io::Error) -> io::Result<()> {
        if self.left == 0 || failure.kind() == ErrorKind::TimedOut {
            return Err(failure);
        }
        self.left -= 1;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// The run around this process, as its environment variables state.
#[derive(Clone, Debug)]
pub(crate) struct EnclosingRun {
    pub(crate) socket: PathBuf,
    pub(crate) token: String,
}

impl EnclosingRun {
    /// Returns the run around this process, if there is one.
    pub(crate) fn from_environment() -> Option<Self> {
        let given = |name: &str| environment_variable(name).filter(|value| !value.is_empty());
        Some(Self { socket: given(SOCKET)?.into(), token: given(TOKEN)? })
    }

    /// Returns the root of the project; the socket is in its `.unstuck/` folder or in that of a run.
    pub(crate) fn project_root(&self) -> Option<&Path> {
        self.socket.ancestors().find(|folder| folder.ends_with(FOLDER))?.parent()
    }

    /// Connects to the holder, with retries, because between two holders there is a moment without one.
    pub(crate) async fn connect(&self) -> io::Result<ControlClient> {
        let mut attempts = ConnectAttempts::new();
        loop {
            match ControlClient::connect(&self.socket, Some(self.token.clone())).await {
                Ok((client, _)) => return Ok(client),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error),
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }
}

/// Returns the resources that actions of the run around this process may use; none if the run does not
/// state them.
pub(crate) fn declarable_resources() -> Result<DeclarationPolicy, CliError> {
    let Some(stated) = environment_variable(DECLARABLE) else {
        return Ok(DeclarationPolicy::default());
    };
    let unusable = |error| internal_fault("mutate", format!("{DECLARABLE}: {error}"));
    Ok(serde_json::from_str(&stated).map_err(unusable)?)
}

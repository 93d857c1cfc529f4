//! The holder's end of the control socket: accepts connections of other processes.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use unstuck_store::Holder;
use unstuck_world::process::SocketPath;
use unstuck_world::redact::Redactor;

use super::connection::{ControlConnection, ControlContext};
use super::rights::judge_peer;
use super::token::TokenKey;
use crate::event_loop::RunnerHandle;

/// The folder of the runs' lock files, next to the socket.
const RUNS: &str = "runs";
/// Maximum number of simultaneous connections.
const CONNECTIONS_MAX: usize = 256;
/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listener for other processes, until it is dropped.
#[derive(Debug)]
pub struct ControlServer(tokio::task::JoinHandle<()>);

impl ControlServer {
    /// Listens at `path`. Only the holder of the project may call this: an existing socket there is
    /// a dead one, and is replaced. Texts that look like a secret are redacted from messages of
    /// children of runs.
    pub fn start(
        path: &Path,
        handle: RunnerHandle,
        key: TokenKey,
        holder: Holder,
    ) -> io::Result<Self> {
        Self::start_redacting(path, handle, key, holder, Arc::default())
    }

    /// Listens like [`start`](Self::start), with known secrets that are redacted from messages of
    /// children of runs.
    pub fn start_redacting(
        path: &Path,
        handle: RunnerHandle,
        key: TokenKey,
        holder: Holder,
        redactor: Arc<Redactor>,
    ) -> io::Result<Self> {
        let listener = PrivateListener::bind(path, CONNECTIONS_MAX)?;
        let runs = path.with_file_name(RUNS);
        let talk = Arc::new(ControlContext { handle, key, holder, redactor, runs });
        Ok(Self(tokio::spawn(accept_connections(listener, talk))))
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // The file stays: by now it may belong to the next holder.
        self.0.abort();
    }
}

async fn accept_connections(listener: PrivateListener, talk: Arc<ControlContext>) {
    while let Some((stream, place)) = listener.accept().await {
        let talk = Arc::clone(&talk);
        tokio::spawn(async move {
            let rights = judge_peer(&stream, talk.runs.clone(), &talk.handle).await;
            ControlConnection::new(talk, stream, rights).serve_requests().await;
            drop(place);
        });
    }
}

/// A socket that is accessible to the user alone, with a maximum number of simultaneous connections.
pub(super) struct PrivateListener {
    listener: UnixListener,
    places: Arc<Semaphore>,
}

impl PrivateListener {
    /// Binds the socket at `path`. An existing one is a dead one, and is replaced.
    pub(super) fn bind(path: &Path, connections_max: usize) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(SocketPath::from_path(path)?.as_path())?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, places: Arc::new(Semaphore::new(connections_max)) })
    }

    /// Accepts the next connection, which counts until its permit is dropped.
    pub(super) async fn accept(&self) -> Option<(UnixStream, OwnedSemaphorePermit)> {
        let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return Some((stream, place)),
                // The process may be out of file descriptors, which passes.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

//! The socket of one run: each connection through it has the rights of that run and no others.
//!
//! It is the only way from the sandbox to the supervisor. The process that performs the run listens
//! on it and forwards each connection to the control socket, after it has presented the run's token
//! there; so it keeps working when another process becomes the holder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use unstuck_world::process::SocketPath;

use super::server::PrivateListener;
use super::token::RunToken;
use super::wire::{ControlRequest, ControlRequestBody, ControlResponse, next_line};
use crate::effects::remove_if_exists;

/// Maximum number of simultaneous connections of one run.
const CONNECTIONS_MAX: usize = 32;

/// Maximum wait for a holder during a handover, and the interval between tries.
const HANDOVER_MAX: Duration = Duration::from_secs(4);
const HANDOVER_PAUSE: Duration = Duration::from_millis(50);

/// A forwarder for the connections of one run, until it is dropped.
#[derive(Debug)]
pub struct RunSocket {
    path: PathBuf,
    listening: JoinHandle<()>,
}

impl RunSocket {
    /// Listens at `path` for the run with this token, and forwards to the socket at `control`.
    pub fn open(path: PathBuf, control: PathBuf, token: &RunToken) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let listener = PrivateListener::bind(&path, CONNECTIONS_MAX)?;
        let control = Arc::from(control);
        let token = Arc::from(token.as_str());
        Ok(Self { path, listening: tokio::spawn(accept_connections(listener, control, token)) })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunSocket {
    fn drop(&mut self) {
        self.listening.abort();
        remove_if_exists(&self.path);
    }
}

async fn accept_connections(listener: PrivateListener, control: Arc<Path>, token: Arc<str>) {
    while let Some((stream, place)) = listener.accept().await {
        let control = Arc::clone(&control);
        let token = Arc::clone(&token);
        tokio::spawn(async move {
            if let Err(error) = forward_connection(stream, &control, &token).await {
                tracing::debug!(%error, "a connection of a run has ended");
            }
            drop(place);
        });
    }
}

/// Forwards a connection after it is bound to the run for good.
async fn forward_connection(mut inside: UnixStream, control: &Path, token: &str) -> io::Result<()> {
    let mut holder = connect_to_holder(control).await?;
    let hello =
        ControlRequest { id: 0, what: ControlRequestBody::Hello { token: Some(token.to_owned()) } };
    let mut line = serde_json::to_vec(&hello)?;
    line.push(b'\n');
    holder.write_all(&line).await?;
    let mut lines = BufReader::new(holder);
    let said = next_line(&mut lines).await.ok_or(io::ErrorKind::UnexpectedEof)?;
    let Ok(ControlResponse::Done { .. }) = serde_json::from_slice::<ControlResponse>(&said) else {
        return Err(io::ErrorKind::ConnectionRefused.into());
    };
    // The holder sends nothing unasked, so the buffer is empty.
    copy_bidirectional(&mut inside, &mut lines.into_inner()).await.map(drop)
}

/// Connects to the holder of the project, or to the next one during a handover.
async fn connect_to_holder(control: &Path) -> io::Result<UnixStream> {
    let path = SocketPath::from_path(control)?;
    let next = async {
        loop {
            tokio::time::sleep(HANDOVER_PAUSE).await;
            if let Ok(holder) = UnixStream::connect(path.as_path()).await {
                return holder;
            }
        }
    };
    match UnixStream::connect(path.as_path()).await {
        Ok(holder) => Ok(holder),
        Err(error) => tokio::time::timeout(HANDOVER_MAX, next).await.map_err(|_| error),
    }
}

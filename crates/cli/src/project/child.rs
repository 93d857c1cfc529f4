//! A process of Unstuck inside a run: its way to the holder of the project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use unstuck_runner::control::ControlClient;
use unstuck_world::mcp::{SOCKET, TOKEN};

use super::folder::FOLDER;
use super::patience::{PAUSE, TRIES};
use crate::error::{CliError, ScriptError};
use crate::settings::environment_variable;

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

    /// Returns the root of the project.
    pub(crate) fn project_root(&self) -> Option<&Path> {
        project_of_socket(&self.socket)
    }

    /// Connects to the holder, with retries, because between two holders there is a moment without one.
    pub(crate) async fn connect(&self) -> Result<ControlClient, CliError> {
        let mut tries = TRIES;
        loop {
            match ControlClient::connect(&self.socket, Some(self.token.clone())).await {
                Ok((client, _)) => return Ok(client),
                Err(source)
                    if tries == 0
                        || matches!(
                            source.kind(),
                            ErrorKind::TimedOut | ErrorKind::PermissionDenied
                        ) =>
                {
                    return Err(ScriptError::Unreachable { source }.into());
                }
                Err(_) => {
                    tries -= 1;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Returns the root of the project that a socket belongs to; the socket is in its `.unstuck/` folder or in
/// that of a run.
pub(crate) fn project_of_socket(socket: &Path) -> Option<&Path> {
    socket.ancestors().find(|folder| folder.ends_with(FOLDER))?.parent()
}

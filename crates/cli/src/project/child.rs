//! A process of ours inside a run: how it finds whoever holds the project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use unstuck_runner::control::Client;
use unstuck_world::mcp::{SOCKET, TOKEN};

use super::folder::FOLDER;
use super::patience::{PAUSE, TRIES};
use crate::error::{Error, ScriptError};
use crate::settings::variable;

/// The run that we are a child of, as its variables say.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) socket: PathBuf,
    pub(crate) token: String,
}

impl Child {
    /// The run around us, if there is one.
    pub(crate) fn of_environment() -> Option<Self> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        Some(Self { socket: given(SOCKET)?.into(), token: given(TOKEN)? })
    }

    /// The folder of the project.
    pub(crate) fn root(&self) -> Option<&Path> {
        project_of_socket(&self.socket)
    }

    /// Connects. Between one holder and the next there is a moment without one.
    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        let mut tries = TRIES;
        loop {
            match Client::connect(&self.socket, Some(self.token.clone())).await {
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

/// The folder of the project that a socket belongs to: its own folder, or that of a run.
pub(crate) fn project_of_socket(socket: &Path) -> Option<&Path> {
    socket.ancestors().find(|folder| folder.ends_with(FOLDER))?.parent()
}

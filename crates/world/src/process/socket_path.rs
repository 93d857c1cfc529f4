//! A socket's path may be at most about a hundred bytes long; a project's folder may be deeper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// The longest path every system takes for a socket.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// A short name for a socket, good as long as this lives.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Keeps the short name alive.
    _folder: Option<File>,
}

impl SocketPath {
    /// The short name of the socket at `path`, which may not exist yet; its folder has to.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let folder = File::open(parent)?;
        let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path: short, _folder: Some(folder) })
    }

    /// The path to bind or to connect to.
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

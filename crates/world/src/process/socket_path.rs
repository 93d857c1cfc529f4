//! Short paths for sockets: a socket's path is limited to about a hundred bytes, and a project's
//! folder may be deeper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Maximum length of a socket's path in bytes that every system accepts.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// A short path of a socket, valid as long as this value lives.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// The open folder that keeps the short path valid.
    _folder: Option<File>,
}

impl SocketPath {
    /// Returns the short path of the socket at `path`, which need not exist yet; its folder has to.
    pub fn from_path(path: &Path) -> io::Result<Self> {
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

    /// Returns the path to bind or to connect to.
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

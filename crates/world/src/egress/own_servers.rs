//! The addresses on which Unstuck's own servers listen, whichever process they are in. No setting
//! tells them: a server takes another port if its own is taken, and a command line can name one.
//!
//! Each server has a file in a folder of its user. It counts as long as its process holds the lock
//! on it, so a killed server is forgotten at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The extension of a file that is complete and locked.
const LISTENING: &str = "listening";
/// Mode of a file, which no other user may read.
const PRIVATE: u32 = 0o600;

/// The folder in which this process looks for servers.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The announced address of a server, until it is dropped or its process dies.
#[derive(Debug)]
pub struct ServerAnnouncement {
    path: PathBuf,
    /// The lock on the file.
    _file: File,
}

impl ServerAnnouncement {
    /// Announces in `folder` that a server of this process listens on `address`.
    pub fn publish(folder: &Path, address: SocketAddr) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let name = format!("{}-{}", std::process::id(), address.port());
        let draft = folder.join(format!("{name}.draft"));
        let path = folder.join(format!("{name}.{LISTENING}"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(PRIVATE);
        let mut file = options.open(&draft)?;
        // Locked before it has its name, so that no reader takes it for a left one.
        file.try_lock()?;
        file.write_all(address.to_string().as_bytes())?;
        fs::rename(&draft, &path)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for ServerAnnouncement {
    fn drop(&mut self) {
        // A file that stays has no lock, so it does not count.
        let _ = fs::remove_file(&self.path);
    }
}

/// Names the folder in which the servers of this user are announced, for all proxies of this
/// process.
pub fn look_for_servers(folder: &Path) {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
}

/// Returns whether one of the servers is reached at an address now.
pub(super) fn is_own_server(address: SocketAddr) -> bool {
    let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let servers = folder.map(|folder| read_servers(&folder)).unwrap_or_default();
    servers.into_iter().any(|server| is_served_at(server, address))
}

/// Returns whether `address` leads to a server that listens on `server`. One that listens on every
/// address is reached on each of this machine's.
pub(super) fn is_served_at(server: SocketAddr, address: SocketAddr) -> bool {
    let at = server.ip().to_canonical();
    let ip = address.ip().to_canonical();
    let is_here = at == ip || (at.is_unspecified() && (ip.is_loopback() || ip.is_unspecified()));
    server.port() == address.port() && (is_here || (ip.is_unspecified() && at.is_loopback()))
}

fn read_servers(folder: &Path) -> Vec<SocketAddr> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let announced = paths.filter(|path| path.extension().is_some_and(|end| end == LISTENING));
    announced.filter_map(|path| read_server(&path)).collect()
}

/// Returns the address in a file, if its server lives.
fn read_server(path: &Path) -> Option<SocketAddr> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => fs::read_to_string(path).ok()?.parse().ok(),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_announced_as_long_as_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let address: SocketAddr = "127.0.0.1:4321".parse().unwrap();
        assert_eq!(read_servers(&folder.path().join("none")), []);
        let listening = ServerAnnouncement::publish(folder.path(), address).unwrap();
        assert_eq!(read_servers(folder.path()), [address]);
        let left = listening.path.with_file_name("1-1.listening");
        fs::copy(&listening.path, left).unwrap();
        assert_eq!(read_servers(folder.path()), [address], "a killed server does not count");
        drop(listening);
        assert_eq!(read_servers(folder.path()), []);
    }
}

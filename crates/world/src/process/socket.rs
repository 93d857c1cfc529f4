//! Unix sockets that lead out of a wall: their paths, and the loopback ports inside a network
//! namespace that lead to them.
//!
//! The forwarder uses plain threads and blocking calls: it runs in the sandbox's inner stage, which
//! has no runtime and should start within a millisecond.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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

/// Maximum number of concurrent connections of one forwarder; further ones are closed at once.
const CONNECTIONS_MAX: usize = 128;
/// Stack size of a thread that only copies.
const STACK_BYTES: usize = 128 * 1_024;
/// Pause when the system has no descriptor left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A loopback port inside the namespace that leads to a unix socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortForward {
    /// The port, on 127.0.0.1 and, if available, on `::1`.
    pub port: u16,
    /// The path of the socket inside the namespace.
    pub socket: PathBuf,
}

/// Ports that are listened on but not served yet: connections already wait.
#[derive(Debug)]
pub struct PortForwarder {
    listeners: Vec<(TcpListener, PathBuf)>,
}

impl PortForwarder {
    /// Listens on every port. Processes that start afterwards find them open.
    pub fn bind(forwards: &[PortForward]) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for PortForward { port, socket } in forwards {
            listeners.push((TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?, socket.clone()));
            // Some namespaces have no IPv6; clients then use the IPv4 address.
            if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, *port)) {
                listeners.push((listener, socket.clone()));
            }
        }
        Ok(Self { listeners })
    }

    /// Returns the ports, in the order they were named; the system has chosen those that were 0.
    pub fn ports(&self) -> Vec<u16> {
        let addresses =
            self.listeners.iter().filter_map(|(listener, _)| listener.local_addr().ok());
        addresses.filter(SocketAddr::is_ipv4).map(|address| address.port()).collect()
    }

    /// Copies between connections and sockets, until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        let threads = self.listeners.into_iter().map(|(listener, socket)| {
            let open = Arc::clone(&open);
            spawn_thread(move || accept_connections(&listener, &socket, &open))
        });
        let threads: Vec<_> = threads.collect::<io::Result<_>>()?;
        for thread in threads {
            thread.join().map_err(|_| io::Error::other("a forward ended"))?;
        }
        Ok(())
    }
}

fn spawn_thread(act: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(act)
}

fn accept_connections(listener: &TcpListener, socket: &Path, open: &Arc<AtomicUsize>) {
    loop {
        let Ok((connection, _)) = listener.accept() else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let socket = socket.to_owned();
        let counted = Arc::clone(open);
        let started = spawn_thread(move || {
            // A broken connection is closed on both sides; the client sees it.
            let _ = forward_connection(&connection, &socket);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn forward_connection(inner: &TcpStream, socket: &Path) -> io::Result<()> {
    let outer = UnixStream::connect(SocketPath::from_path(socket)?.as_path())?;
    inner.set_nodelay(true)?;
    thread::scope(|scope| {
        let out = || {
            let copied = io::copy(&mut &*inner, &mut &outer);
            // The other side learns of the end, and can still respond.
            let _ = outer.shutdown(if copied.is_ok() { Shutdown::Write } else { Shutdown::Both });
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, out)?;
        let copied = io::copy(&mut &outer, &mut &*inner);
        inner.shutdown(if copied.is_ok() { Shutdown::Write } else { Shutdown::Both })
    })
}

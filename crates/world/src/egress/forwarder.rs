//! The inner end of the way out: loopback ports inside a network namespace that lead to unix
//! sockets outside.
//!
//! It uses plain threads and blocking calls: it runs in the sandbox's inner stage, which has no
//! runtime and should start within a millisecond.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::SocketPath;

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

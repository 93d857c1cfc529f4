//! The listener of the proxy: on a unix socket, or on loopback with a credential.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::outgoing::EgressConnector;
use super::own_servers::is_own_server;
use super::proxy::{ProxyHandler, spawn_until_end};
use super::reach::{EgressDestinations, ReachSetting};
use super::refusals::{RefusalLog, RefusedTarget};
use super::variables::{LoopbackRoute, PROXY_PORT, ProxyAddress, USER};
use crate::process::{PortForward, SocketPath};
use crate::provider::Proxies;
use crate::regular_file::allow_missing;

/// Maximum number of concurrent connections of one run; further ones wait.
const CONNECTIONS_MAX: usize = 128;
/// Pause when the system has no descriptor left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Number of random bytes of the credential.
const CREDENTIAL_BYTES: usize = 32;

/// The rules of a proxy.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// The hosts that may be reached.
    pub destinations: EgressDestinations,
    /// The setting that names them.
    pub setting: ReachSetting,
    /// The proxies of the operator's environment, through which the proxy itself connects.
    pub proxies: Proxies,
}

/// The proxy of one run. It runs until it is dropped; open connections end with it.
#[derive(Debug)]
pub struct EgressProxy {
    place: ProxyListenAddress,
    relays: Vec<PortForward>,
    slots: Arc<Semaphore>,
    refusals: Arc<RefusalLog>,
    end: CancellationToken,
    _end: DropGuard,
}

#[derive(Debug)]
enum ProxyListenAddress {
    Socket(PathBuf),
    Loopback { port: u16, credential: String },
}

impl EgressProxy {
    /// Listens on a unix socket that only its user can open. The sandbox makes it reachable inside.
    pub fn listen_on_socket(socket: &Path, settings: EgressSettings) -> io::Result<Self> {
        let listener = bind_socket(socket)?;
        let (egress, proxy) =
            Self::new(ProxyListenAddress::Socket(socket.to_owned()), settings, None);
        egress.accept_each(listener, move |stream, slot| proxy.serve_client(stream, slot));
        Ok(egress)
    }

    /// Listens on a loopback port of this machine, for sandboxes without a network namespace.
    /// Serves only clients that send the credential of [`Self::proxy_address`].
    pub async fn listen_on_loopback(settings: EgressSettings) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let mut credential = [0; CREDENTIAL_BYTES];
        getrandom::fill(&mut credential).map_err(io::Error::other)?;
        let credential = blake3::hash(&credential).to_hex();
        let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{credential}")));
        let place = ProxyListenAddress::Loopback { port, credential: credential.to_string() };
        let (egress, proxy) = Self::new(place, settings, Some(expected));
        egress.accept_each(listener, move |stream, slot| proxy.serve_client(stream, slot));
        Ok(egress)
    }

    fn new(
        place: ProxyListenAddress,
        settings: EgressSettings,
        credential: Option<String>,
    ) -> (Self, Arc<ProxyHandler>) {
        let EgressSettings { destinations, setting, proxies } = settings;
        let refusals = Arc::new(RefusalLog::default());
        let end = CancellationToken::new();
        let proxy = Arc::new(ProxyHandler {
            outgoing: EgressConnector::new(destinations, &proxies),
            setting,
            credential: credential.map(|text| blake3::hash(text.as_bytes())),
            refusals: Arc::clone(&refusals),
            end: end.clone(),
        });
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let guard = end.clone().drop_guard();
        (Self { place, relays: Vec::new(), slots, refusals, end, _end: guard }, proxy)
    }

    /// Listens on a further socket that leads only to one service on this machine's loopback: a
    /// model service that the operator runs. It has the same port inside the namespace.
    pub fn add_relay(&mut self, socket: &Path, service: SocketAddr) -> io::Result<()> {
        let listener = bind_socket(socket)?;
        let end = self.end.clone();
        self.accept_each(listener, move |stream, slot| {
            spawn_until_end(&end, relay_connection(stream, service, slot));
        });
        self.relays.push(PortForward { port: service.port(), socket: socket.to_owned() });
        Ok(())
    }

    /// Serves connections as they come, as many at a time as there are slots.
    fn accept_each<L: StreamListener>(
        &self,
        listener: L,
        serve: impl Fn(L::Stream, OwnedSemaphorePermit) + Send + 'static,
    ) {
        let slots = Arc::clone(&self.slots);
        spawn_until_end(&self.end, async move {
            loop {
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                match listener.accept_stream().await {
                    Ok(stream) => serve(stream, slot),
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            }
        });
    }

    /// Returns the address of the proxy for the programs that use it.
    pub fn proxy_address(&self) -> ProxyAddress {
        let loopback = LoopbackRoute::Direct;
        match &self.place {
            ProxyListenAddress::Socket(_) => {
                ProxyAddress { port: PROXY_PORT, credential: None, loopback }
            }
            ProxyListenAddress::Loopback { port, credential } => {
                ProxyAddress { port: *port, credential: Some(credential.clone()), loopback }
            }
        }
    }

    /// Returns the ports that the sandbox's inner stage has to listen on, with the sockets they
    /// lead to.
    pub fn port_forwards(&self) -> Vec<PortForward> {
        let own = match &self.place {
            ProxyListenAddress::Socket(socket) => {
                Some(PortForward { port: PROXY_PORT, socket: socket.clone() })
            }
            ProxyListenAddress::Loopback { .. } => None,
        };
        own.into_iter().chain(self.relays.iter().cloned()).collect()
    }

    /// Returns the loopback port of this machine that has to stay open where there is no network
    /// namespace.
    pub const fn loopback_port(&self) -> Option<u16> {
        match self.place {
            ProxyListenAddress::Socket(_) => None,
            ProxyListenAddress::Loopback { port, .. } => Some(port),
        }
    }

    /// Returns the refusals so far, by target.
    pub fn list_refusals(&self) -> Vec<RefusedTarget> {
        self.refusals.list()
    }

    /// Returns whether a connection to this host was allowed and failed.
    pub fn was_unreached(&self, host: &str) -> bool {
        self.refusals.was_unreached(host)
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        for PortForward { socket, .. } in self.port_forwards() {
            // A socket that cannot be removed is dead, and the next run replaces it.
            let _ = fs::remove_file(socket);
        }
    }
}

/// A source of client connections.
trait StreamListener: Send + Sync + 'static {
    type Stream: Send;

    fn accept_stream(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl StreamListener for UnixListener {
    type Stream = UnixStream;

    async fn accept_stream(&self) -> io::Result<UnixStream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

impl StreamListener for TcpListener {
    type Stream = TcpStream;

    async fn accept_stream(&self) -> io::Result<TcpStream> {
        self.accept().await.map(|(stream, _)| stream)
    }
}

/// Listens at a path; replaces the socket of a run that is over.
fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    allow_missing(fs::remove_file(path))?;
    let listener = UnixListener::bind(SocketPath::from_path(path)?.as_path())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Copies between a client and a service until both are done.
async fn relay_connection(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    service: SocketAddr,
    _slot: OwnedSemaphorePermit,
) {
    if is_own_server(service) {
        return;
    }
    if let Ok(mut service) = TcpStream::connect(service).await {
        // A broken connection is closed on both sides.
        let _ = copy_bidirectional(&mut client, &mut service).await;
    }
}

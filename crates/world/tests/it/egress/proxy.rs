//! A service on loopback, a proxy before it, and a client that speaks to the proxy in bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use unstuck_world::egress::{
    EgressDestinations, EgressProxy, EgressReach, EgressSettings, ReachEntry, ReachSetting,
};
use unstuck_world::provider::Proxies;

/// A service that answers every connection with the same bytes and remembers what it was asked.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub(crate) async fn answering(reply: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read_head(&mut stream).await;
                notes.lock().unwrap().push(request);
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
        });
        Self { address, heard }
    }

    /// The heads of the requests that came in.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

/// A proxy that lets these hosts through.
pub(crate) struct Stage {
    pub(crate) egress: EgressProxy,
    pub(crate) socket: PathBuf,
    _folder: TempDir,
}

pub(crate) fn allowing(hosts: &[String]) -> EgressSettings {
    let listed = hosts.iter().map(|host| ReachEntry::parse(host).unwrap()).collect();
    let destinations = EgressDestinations::new(&EgressReach::Hosts(listed), &[]);
    EgressSettings {
        destinations,
        setting: ReachSetting { heading: "[agent]", name: "network" },
        proxies: Proxies::default(),
    }
}

impl Stage {
    pub(crate) fn new(settings: EgressSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("egress.sock");
        let egress = EgressProxy::listen_on_socket(&socket, settings).unwrap();
        Self { egress, socket, _folder: folder }
    }

    /// A service with this reply, its host, and a proxy that lets it through.
    pub(crate) async fn before(reply: &'static str) -> (Service, String, Self) {
        let service = Service::answering(reply).await;
        let host = format!("localhost:{}", service.port());
        let stage = Self::new(allowing(std::slice::from_ref(&host)));
        (service, host, stage)
    }

    /// Sends a request and reads all of the answer.
    pub(crate) async fn ask(&self, request: &str) -> String {
        ask(UnixStream::connect(&self.socket).await.unwrap(), request).await
    }

    /// A tunnel to `authority`, or what was said instead.
    pub(crate) async fn tunnel(&self, authority: &str) -> Result<UnixStream, String> {
        let stream = UnixStream::connect(&self.socket).await.unwrap();
        open_tunnel(stream, authority, "").await
    }
}

pub(crate) async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Whether the other side ends in good order is not what these tests are about.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) async fn open_tunnel<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    authority: &str,
    headers: &str,
) -> Result<S, String> {
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = read_head(&mut stream).await;
    if answer.starts_with("HTTP/1.1 200 ") {
        return Ok(stream);
    }
    let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap_or("0").parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    answer.push_str(&String::from_utf8(body).unwrap());
    Err(answer)
}

/// Talks to the proxy on loopback.
pub(crate) async fn connect_to(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap()
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

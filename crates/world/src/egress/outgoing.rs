//! Outgoing connections of the proxy: judged, resolved once, and made to the judged address.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::destinations::Destinations;
use super::host::{Host, Target};
use super::refusals::RefusalReason;
use crate::provider::Proxies;

/// Timeout of resolving a name, and of connecting to an address.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// A connection in either direction.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that leads to the target, and the peer on it.
pub(super) struct Connected {
    pub(super) stream: Box<dyn Stream>,
    pub(super) way: Way,
}

/// The peer that responds on a plain HTTP connection.
pub(super) enum Way {
    /// The target itself.
    Direct,
    /// The operator's proxy, which takes absolute URLs and may require a credential.
    Proxy(Option<HeaderValue>),
}

/// The reason why there is no connection.
#[derive(Debug, Error)]
pub(super) enum ConnectError {
    #[error("{0}")]
    Refused(RefusalReason),
    #[error("the name could not be resolved: {0}")]
    Unresolved(io::Error),
    #[error("it does not answer: {0}")]
    Unreachable(io::Error),
    #[error("your proxy does not let it through: {0}")]
    Upstream(String),
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A tunnel that passes bytes on unchanged.
    Tunnel,
    /// A plain HTTP request.
    Request,
}

/// A connector that decides about targets and connects to them.
pub(super) struct Outgoing {
    pub(super) destinations: Destinations,
    upstream: Arc<Matcher>,
}

impl Outgoing {
    pub(super) fn new(destinations: Destinations, proxies: &Proxies) -> Self {
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        let matcher = Matcher::builder()
            .http(said(&proxies.http))
            .https(said(&proxies.https))
            .no(said(&proxies.not_for))
            .build();
        Self { destinations, upstream: Arc::new(matcher) }
    }

    /// Connects to a target, if it may be reached.
    pub(super) async fn connect(
        &self,
        target: &Target,
        purpose: Purpose,
    ) -> Result<Connected, ConnectError> {
        // Names that are not allowed are not even resolved: a lookup tells its server something.
        let place = self.destinations.judge(target).map_err(ConnectError::Refused)?;
        if let Some(upstream) = self.upstream_of(target, purpose) {
            return upstream.connect(target, purpose).await;
        }
        let resolved = resolve(target).await?;
        let admitted = self.destinations.admit(resolved, place).map_err(ConnectError::Refused)?;
        let stream = open(&admitted).await.map_err(ConnectError::Unreachable)?;
        Ok(Connected { stream: Box::new(stream), way: Way::Direct })
    }

    /// Returns the proxy of the operator's environment that applies to a target.
    fn upstream_of(&self, target: &Target, purpose: Purpose) -> Option<Upstream> {
        let scheme = match purpose {
            Purpose::Tunnel => "https",
            Purpose::Request => "http",
        };
        let asked: Uri = format!("{scheme}://{target}/").parse().ok()?;
        let found = self.upstream.intercept(&asked)?;
        Some(Upstream { address: found.uri().clone(), credential: found.basic_auth().cloned() })
    }
}

/// A proxy of the operator's environment.
struct Upstream {
    address: Uri,
    credential: Option<HeaderValue>,
}

impl Upstream {
    async fn connect(self, target: &Target, purpose: Purpose) -> Result<Connected, ConnectError> {
        let refuse = |text: &str| ConnectError::Upstream(text.to_owned());
        if self.address.scheme_str() != Some("http") {
            return Err(refuse("only proxies that are reached by http:// are supported"));
        }
        let host = self.address.host().ok_or_else(|| refuse("its address has no host"))?;
        let port = self.address.port_u16().unwrap_or(80);
        let host = Host::parse(host).map_err(|error| ConnectError::Upstream(error.to_string()))?;
        let resolved: Vec<_> = resolve(&Target { host, port }).await?;
        let stream = open(&resolved).await.map_err(ConnectError::Unreachable)?;
        match purpose {
            Purpose::Request => {
                Ok(Connected { stream: Box::new(stream), way: Way::Proxy(self.credential) })
            }
            Purpose::Tunnel => {
                let tunnel = timeout(CONNECT_MAX, self.tunnel(stream, target)).await;
                let tunnel = tunnel.map_err(|_| refuse("it does not answer"))?;
                let stream = tunnel.map_err(ConnectError::Upstream)?;
                Ok(Connected { stream, way: Way::Direct })
            }
        }
    }

    async fn tunnel(self, stream: TcpStream, target: &Target) -> Result<Box<dyn Stream>, String> {
        let said = |error: hyper::Error| error.to_string();
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(said)?;
        tokio::spawn(connection.with_upgrades());
        let authority = target.to_string();
        let mut request = Request::builder().method(Method::CONNECT).uri(&authority);
        request = request.header(HOST, &authority);
        if let Some(credential) = self.credential {
            request = request.header(PROXY_AUTHORIZATION, credential);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(said)?;
        if !response.status().is_success() {
            return Err(format!("it answered {}", response.status()));
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(said)?;
        Ok(Box::new(TokioIo::new(upgraded)))
    }
}

async fn resolve(target: &Target) -> Result<Vec<SocketAddr>, ConnectError> {
    match &target.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, target.port)]),
        Host::Name(name) => {
            let lookup = timeout(CONNECT_MAX, lookup_host((name.as_str(), target.port))).await;
            let resolved = lookup.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            Ok(resolved.map_err(ConnectError::Unresolved)?.collect())
        }
    }
}

/// Connects to the first address that responds.
async fn open(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failed = error,
            Err(_) => failed = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failed)
}

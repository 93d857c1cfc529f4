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

use super::host::{EgressHost, EgressTarget};
use super::reach::EgressDestinations;
use super::refusals::RefusalReason;
use crate::provider::Proxies;

/// Timeout of resolving a name, and of connecting to an address.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// A connection in either direction.
pub(super) trait EgressStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> EgressStream for T {}

/// A connection that leads to the target, and the peer on it.
pub(super) struct EgressConnection {
    pub(super) stream: Box<dyn EgressStream>,
    pub(super) way: EgressRoute,
}

/// The peer that responds on a plain HTTP connection.
pub(super) enum EgressRoute {
    /// The target itself.
    Direct,
    /// The operator's proxy, which takes absolute URLs and may require a credential.
    Proxy(Option<HeaderValue>),
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectPurpose {
    /// A tunnel that passes bytes on unchanged.
    Tunnel,
    /// A plain HTTP request.
    Request,
}

/// A connector that decides about targets and connects to them.
pub(super) struct EgressConnector {
    pub(super) destinations: EgressDestinations,
    upstream: Arc<Matcher>,
}

impl EgressConnector {
    pub(super) fn new(destinations: EgressDestinations, proxies: &Proxies) -> Self {
        let said = |text: &Option<String>| text.clone().unwrap_or_default();
        let matcher = Matcher::builder()
            .http(said(&proxies.http))
            .https(said(&proxies.https))
            .no(said(&proxies.not_for))
            .build();
        Self { destinations, upstream: Arc::new(matcher) }
    }

    /// Connects to a target, if it may be reached.
    pub(super) async fn connect_to(
        &self,
        target: &EgressTarget,
        purpose: ConnectPurpose,
    ) -> Result<EgressConnection, ConnectError> {
        // Names that are not allowed are not even resolved: a lookup tells its server something.
        let place = self.destinations.judge_target(target).map_err(ConnectError::Refused)?;
        if let Some(upstream) = self.find_upstream(target, purpose) {
            return upstream.connect_to(target, purpose).await;
        }
        let resolved = resolve_target(target).await?;
        let admitted =
            self.destinations.filter_addresses(resolved, place).map_err(ConnectError::Refused)?;
        let stream = connect_first(&admitted).await.map_err(ConnectError::Unreachable)?;
        Ok(EgressConnection { stream: Box::new(stream), way: EgressRoute::Direct })
    }

    /// Returns the proxy of the operator's environment that applies to a target.
    fn find_upstream(
        &self,
        target: &EgressTarget,
        purpose: ConnectPurpose,
    ) -> Option<UpstreamProxy> {
        let scheme = match purpose {
            ConnectPurpose::Tunnel => "https",
            ConnectPurpose::Request => "http",
        };
        let asked: Uri = format!("{scheme}://{target}/").parse().ok()?;
        let found = self.upstream.intercept(&asked)?;
        Some(UpstreamProxy {
            address: found.uri().clone(),
            credential: found.basic_auth().cloned(),
        })
    }
}

/// A proxy of the operator's environment.
struct UpstreamProxy {
    address: Uri,
    credential: Option<HeaderValue>,
}

impl UpstreamProxy {
    async fn connect_to(
        self,
        target: &EgressTarget,
        purpose: ConnectPurpose,
    ) -> Result<EgressConnection, ConnectError> {
        let refuse = |text: &str| ConnectError::Upstream(text.to_owned());
        if self.address.scheme_str() != Some("http") {
            return Err(refuse("only proxies that are reached by http:// are supported"));
        }
        let host = self.address.host().ok_or_else(|| refuse("its address has no host"))?;
        let port = self.address.port_u16().unwrap_or(80);
        let host =
            EgressHost::parse(host).map_err(|error| ConnectError::Upstream(error.to_string()))?;
        let resolved: Vec<_> = resolve_target(&EgressTarget { host, port }).await?;
        let stream = connect_first(&resolved).await.map_err(ConnectError::Unreachable)?;
        match purpose {
            ConnectPurpose::Request => Ok(EgressConnection {
                stream: Box::new(stream),
                way: EgressRoute::Proxy(self.credential),
            }),
            ConnectPurpose::Tunnel => {
                let tunnel = timeout(CONNECT_MAX, self.open_tunnel(stream, target)).await;
                let tunnel = tunnel.map_err(|_| refuse("it does not answer"))?;
                let stream = tunnel.map_err(ConnectError::Upstream)?;
                Ok(EgressConnection { stream, way: EgressRoute::Direct })
            }
        }
    }

    async fn open_tunnel(
        self,
        stream: TcpStream,
        target: &EgressTarget,
    ) -> Result<Box<dyn EgressStream>, String> {
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

async fn resolve_target(target: &EgressTarget) -> Result<Vec<SocketAddr>, ConnectError> {
    match &target.host {
        EgressHost::Address(address) => Ok(vec![SocketAddr::new(*address, target.port)]),
        EgressHost::Name(name) => {
            let lookup = timeout(CONNECT_MAX, lookup_host((name.as_str(), target.port))).await;
            let resolved = lookup.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            Ok(resolved.map_err(ConnectError::Unresolved)?.collect())
        }
    }
}

/// Connects to the first address that responds.
async fn connect_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
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

//! A client connection of the proxy: its requests are judged, and passed on or refused.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::host::{EgressTarget, HostError};
use super::outgoing::{
    ConnectError, ConnectPurpose, EgressConnection, EgressConnector, EgressRoute, EgressStream,
};
use super::reach::ReachSetting;
use super::refusals::{RefusalLog, RefusalReason};

const HEAD_BYTES_MAX: usize = 64 * 1_024;
const HEADERS_MAX: usize = 100;
/// Timeout for reading a request's head.
const HEAD_MAX: Duration = Duration::from_secs(30);

/// Headers that are meant for the proxy and not for the target, beside those that `Connection`
/// names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("proxy-connection"),
];

type ProxyBody = BoxBody<Bytes, hyper::Error>;

/// The state that all connections of a run share.
pub(super) struct ProxyHandler {
    pub(super) outgoing: EgressConnector,
    /// The setting that names the reachable hosts.
    pub(super) setting: ReachSetting,
    /// The hash of the header that clients on loopback have to send.
    pub(super) credential: Option<blake3::Hash>,
    pub(super) refusals: Arc<RefusalLog>,
    pub(super) end: CancellationToken,
}

impl ProxyHandler {
    /// Serves a client in a separate task; its slot is released after its last byte.
    pub(super) fn serve_client(
        self: &Arc<Self>,
        stream: impl EgressStream + 'static,
        slot: OwnedSemaphorePermit,
    ) {
        let proxy = Arc::clone(self);
        let slot = Arc::new(slot);
        spawn_until_end(&self.end, async move {
            let answer = service_fn(|request| proxy.answer_request(request, Arc::clone(&slot)));
            // A broken connection has told its client all there is to tell.
            let _ = hyper::server::conn::http1::Builder::new()
                .max_buf_size(HEAD_BYTES_MAX)
                .max_headers(HEADERS_MAX)
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_MAX)
                .serve_connection(TokioIo::new(stream), answer)
                .with_upgrades()
                .await;
        });
    }

    async fn answer_request(
        &self,
        request: Request<Incoming>,
        slot: Arc<OwnedSemaphorePermit>,
    ) -> Result<Response<ProxyBody>, hyper::Error> {
        if !self.is_authorized(request.headers()) {
            let mut response =
                text_response(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "", String::new());
            let asked = HeaderValue::from_static("Basic realm=\"unstuck\"");
            response.headers_mut().insert(PROXY_AUTHENTICATE, asked);
            return Ok(response);
        }
        if request.method() == Method::CONNECT {
            Ok(self.open_tunnel(request, slot).await)
        } else {
            self.forward_request(request).await
        }
    }

    fn is_authorized(&self, headers: &HeaderMap) -> bool {
        let Some(credential) = self.credential else { return true };
        let shown = headers.get(PROXY_AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        blake3::hash(shown) == credential
    }

    async fn open_tunnel(
        &self,
        request: Request<Incoming>,
        slot: Arc<OwnedSemaphorePermit>,
    ) -> Response<ProxyBody> {
        let authority = request.uri().to_string();
        let connected = match self
            .connect_or_refuse(&authority, EgressTarget::parse(&authority), ConnectPurpose::Tunnel)
            .await
        {
            Ok((_, connected)) => connected,
            Err(refusal) => return *refusal,
        };
        let mut outside = connected.stream;
        spawn_until_end(&self.end, async move {
            if let Ok(client) = hyper::upgrade::on(request).await {
                // A broken connection is closed on both sides.
                let _ = copy_bidirectional(&mut TokioIo::new(client), &mut outside).await;
            }
            drop(slot);
        });
        Response::new(Empty::new().map_err(|never| match never {}).boxed())
    }

    /// Passes a plain HTTP request on. If the response is lost on the way, the client's connection
    /// breaks as well: the request was sent, and a response of the proxy would say otherwise.
    async fn forward_request(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<ProxyBody>, hyper::Error> {
        let uri = request.uri().clone();
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            let text =
                "This is Unstuck's proxy. It takes CONNECT requests and whole http:// addresses.";
            return Ok(text_response(StatusCode::BAD_REQUEST, "", format!("{text}\n")));
        };
        let port = uri.port().map_or_else(|| "80".to_owned(), |port| port.as_str().to_owned());
        let target = EgressTarget::new(host, &port);
        let written = format!("{host}:{port}");
        match self.connect_or_refuse(&written, target, ConnectPurpose::Request).await {
            Ok((target, connected)) => self.send_request(request, &target, connected).await,
            Err(refusal) => Ok(*refusal),
        }
    }

    /// Connects, or returns the response that says why not.
    async fn connect_or_refuse(
        &self,
        written: &str,
        target: Result<EgressTarget, HostError>,
        purpose: ConnectPurpose,
    ) -> Result<(EgressTarget, EgressConnection), Box<Response<ProxyBody>>> {
        let target = target.map_err(|error| {
            self.refusals.record_refusal(written, RefusalReason::Malformed, None);
            Box::new(text_response(StatusCode::BAD_REQUEST, "", format!("{written}: {error}\n")))
        })?;
        match self.outgoing.connect_to(&target, purpose).await {
            Ok(connected) => Ok((target, connected)),
            Err(ConnectError::Refused(reason)) => {
                Err(Box::new(self.refuse_target(&target, reason)))
            }
            Err(error) => {
                self.refusals.record_unreached(target.host.to_string());
                let text = format!("{target} cannot be reached: {error}\n");
                Err(Box::new(text_response(StatusCode::BAD_GATEWAY, "", text)))
            }
        }
    }

    fn refuse_target(&self, target: &EgressTarget, reason: RefusalReason) -> Response<ProxyBody> {
        let lines = || self.outgoing.destinations.render_allowing_lines(target, self.setting);
        let lines = (reason != RefusalReason::OwnServer).then(lines);
        let mut text = format!("Unstuck refused the connection to {target}: {reason}.\n");
        if let Some(lines) = &lines {
            let how = format!("To allow it, write this into unstuck.toml:\n\n{lines}\n");
            text.push_str(&how);
        }
        self.refusals.record_refusal(&target.to_string(), reason, lines);
        let phrase = format!("Refused by Unstuck: {reason}");
        text_response(StatusCode::FORBIDDEN, &phrase, text)
    }

    /// Sends a plain HTTP request to the target, and returns the response.
    async fn send_request(
        &self,
        mut request: Request<Incoming>,
        target: &EgressTarget,
        connected: EgressConnection,
    ) -> Result<Response<ProxyBody>, hyper::Error> {
        let EgressConnection { stream, way } = connected;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        spawn_until_end(&self.end, async move {
            // The response's body reports errors of this task.
            let _ = connection.await;
        });
        remove_hop_by_hop(request.headers_mut());
        // The judged target replaces the client's own `Host` header.
        let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
        if let Ok(host) = HeaderValue::from_str(&host) {
            request.headers_mut().insert(HOST, host);
        }
        match way {
            EgressRoute::Direct => {
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
                *request.uri_mut() = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
            }
            EgressRoute::Proxy(None) => {}
            EgressRoute::Proxy(Some(credential)) => {
                request.headers_mut().insert(PROXY_AUTHORIZATION, credential);
            }
        }
        let mut response = sender.send_request(request).await?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response.map(BodyExt::boxed))
    }
}

/// Removes the headers that are meant for the next hop only.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn text_response(status: StatusCode, phrase: &str, text: String) -> Response<ProxyBody> {
    let mut response = Response::new(Full::from(text).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    // Many clients show only the status line of a refused tunnel.
    if let Ok(phrase) = ReasonPhrase::try_from(phrase.as_bytes())
        && !phrase.as_bytes().is_empty()
    {
        response.extensions_mut().insert(phrase);
    }
    response
}

/// Runs a future until it is done or the proxy ends.
pub(super) fn spawn_until_end(
    end: &CancellationToken,
    act: impl Future<Output = ()> + Send + 'static,
) {
    let end = end.clone();
    tokio::spawn(async move {
        end.run_until_cancelled(act).await;
    });
}

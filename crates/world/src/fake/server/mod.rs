//! The service of a model on a local port, which fails on demand.
//!
//! It speaks the three protocols of models (Anthropic Messages, `OpenAI` Responses and Chat
//! Completions) and answers by a script: the n-th call of a model gets the n-th response, whatever
//! it asks. This makes it deterministic, and sufficient for real agent programs. Requests that are
//! no call of a model (a probe of the address, a list of models) do not advance the script.
//!
//! A refused connection is a port without a listener, an unknown host is a name under `.invalid`;
//! neither needs a server.

mod answer;
mod reply;
mod wire;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use answer::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript, FakeStopReason,
    FakeToolCall, FakeTurn, FakeWindowReset,
};

use reply::{FakeBody, FakeReply};
use wire::{FakeModelCall, FakeProtocol};

/// Maximum number of open connections; further ones wait.
const CONNECTIONS_MAX: usize = 64;
/// Maximum number of recorded requests; later ones are answered but not recorded.
const REQUESTS_KEPT_MAX: usize = 1_000;
const BODY_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// Maximum lifetime of a connection.
const CONNECTION_MAX: Duration = Duration::from_mins(30);

/// Headers whose value is a credential.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "proxy-authorization", "cookie"];

/// A running service; dropping it ends it and every hanging response.
#[derive(Debug)]
pub struct FakeServer {
    address: SocketAddr,
    seen: watch::Receiver<Vec<RecordedRequest>>,
    _end: DropGuard,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The headers; the values of credentials are redacted.
    pub headers: Vec<(String, String)>,
    /// The body, unchanged.
    pub body: Bytes,
}

impl RecordedRequest {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl FakeServer {
    /// Listens on a free local port and answers by `script`. Needs a Tokio runtime with time and
    /// I/O.
    pub async fn start(script: impl Into<FakeScript>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (notes, seen) = watch::channel(Vec::new());
        let desk =
            Arc::new(FakeServerState { script: script.into(), calls: AtomicUsize::new(0), notes });
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(
            async move { until.run_until_cancelled(accept_connections(listener, desk)).await },
        );
        Ok(Self { address, seen, _end: end.drop_guard() })
    }

    /// Returns the base URL, without a path: `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all recorded requests, in order.
    pub fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.seen.borrow().clone()
    }

    /// Waits until `count` requests have arrived, and returns all recorded ones.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        let mut seen = self.seen.clone();
        match seen.wait_for(|seen| seen.len() >= count).await {
            Ok(seen) => seen.clone(),
            Err(_) => self.recorded_requests(),
        }
    }

    /// Returns the recorded requests that are calls of a model.
    pub fn model_calls(&self) -> Vec<RecordedRequest> {
        let mut seen = self.recorded_requests();
        seen.retain(|request| FakeProtocol::from_request(&request.method, &request.path).is_some());
        seen
    }
}

/// The state that all connections share.
struct FakeServerState {
    script: FakeScript,
    calls: AtomicUsize,
    notes: watch::Sender<Vec<RecordedRequest>>,
}

async fn accept_connections(listener: TcpListener, desk: Arc<FakeServerState>) {
    // Dropping this future drops the set, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(tokio::time::timeout(
                CONNECTION_MAX,
                serve_connection(stream, Arc::clone(&desk)),
            ));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, desk: Arc<FakeServerState>) {
    let answer = service_fn(|request| desk.answer_request(request));
    // Broken connections are the point of many scripts.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

impl FakeServerState {
    async fn answer_request(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<FakeBody>, Infallible> {
        let Some(seen) = read_request(request).await else {
            return Ok(build_response(reply::json_reply(
                413,
                &json!({"error": "too large for the fake"}),
            )));
        };
        let protocol = FakeProtocol::from_request(&seen.method, &seen.path);
        let asked = protocol.map(|protocol| {
            let number = self.calls.fetch_add(1, Ordering::Relaxed);
            (number, FakeModelCall::from_body(protocol, &seen.json(), number))
        });
        self.notes.send_modify(|notes| {
            if notes.len() < REQUESTS_KEPT_MAX {
                notes.push(seen);
            }
        });
        let Some((number, asked)) = asked else {
            return Ok(build_response(reply::json_reply(
                404,
                &json!({"error": {"message": "no such path"}}),
            )));
        };
        match reply::build_reply(self.script.answer_for_call(number), &asked) {
            Some(reply) => Ok(build_response(reply)),
            None => std::future::pending().await,
        }
    }
}

/// Reads a request; `None` if it is too large or breaks off.
pub(in crate::fake) async fn read_request(request: Request<Incoming>) -> Option<RecordedRequest> {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return None;
    }
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await.ok()?.to_bytes();
    let headers = head.headers.iter().map(|(name, value)| {
        let value = if CREDENTIALS.contains(&name.as_str()) {
            "[redacted]".into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        (name.as_str().to_owned(), value.into_owned())
    });
    Some(RecordedRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        headers: headers.collect(),
        body,
    })
}

fn build_response(reply: FakeReply) -> Response<FakeBody> {
    let mut response = Response::new(reply.body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or_default();
    for (name, value) in reply.headers {
        if let Ok(value) = value.try_into() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

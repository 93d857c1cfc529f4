//! The listening part: connections in, requests noted, replies out.

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

use super::answer::Script;
use super::reply::{self, Reply, Steps};
use super::wire::{Asked, Protocol};

/// How many connections are open at a time; others wait.
const CONNECTIONS_MAX: usize = 64;
/// How many requests are kept for looking at; later ones are answered and forgotten.
const REQUESTS_KEPT_MAX: usize = 1_000;
/// The largest request that is read.
const BODY_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// How long one connection may live.
const CONNECTION_MAX: Duration = Duration::from_mins(30);

/// Headers whose value is a credential.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "proxy-authorization", "cookie"];

/// The service, until it is dropped; whatever hangs ends with it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    seen: watch::Receiver<Vec<Seen>>,
    _end: DropGuard,
}

/// A request that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its headers; of credentials only that they were there.
    pub headers: Vec<(String, String)>,
    /// Its body, as it came.
    pub body: Bytes,
}

impl Seen {
    /// The value of a header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Server {
    /// Listens on a free local port and answers by `script`. Needs a runtime with time and I/O.
    pub async fn start(script: impl Into<Script>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (notes, seen) = watch::channel(Vec::new());
        let desk = Arc::new(Desk { script: script.into(), calls: AtomicUsize::new(0), notes });
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(async move { until.run_until_cancelled(accept(listener, desk)).await });
        Ok(Self { address, seen, _end: end.drop_guard() })
    }

    /// Where it listens, without a path: `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that came in so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    /// Waits until `count` requests have come in, and tells all of them.
    pub async fn arrived(&self, count: usize) -> Vec<Seen> {
        let mut seen = self.seen.clone();
        match seen.wait_for(|seen| seen.len() >= count).await {
            Ok(seen) => seen.clone(),
            Err(_) => self.seen(),
        }
    }

    /// Only the calls of a model among what came in.
    pub fn calls(&self) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|request| Protocol::of(&request.method, &request.path).is_some());
        seen
    }
}

/// What all connections share.
struct Desk {
    script: Script,
    calls: AtomicUsize,
    notes: watch::Sender<Vec<Seen>>,
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    // Dropped with this future, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        if let Ok((stream, _)) = listener.accept().await {
            connections
                .spawn(tokio::time::timeout(CONNECTION_MAX, serve(stream, Arc::clone(&desk))));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, desk: Arc<Desk>) {
    let answer = service_fn(|request| desk.answer(request));
    // A connection that breaks is what many scripts are about.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

impl Desk {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Steps>, Infallible> {
        let Some(seen) = read(request).await else {
            return Ok(response(reply::json(413, &json!({"error": "too large for the fake"}))));
        };
        let protocol = Protocol::of(&seen.method, &seen.path);
        let asked = protocol.map(|protocol| {
            let number = self.calls.fetch_add(1, Ordering::Relaxed);
            (number, Asked::read(protocol, &seen.json(), number))
        });
        self.notes.send_modify(|notes| {
            if notes.len() < REQUESTS_KEPT_MAX {
                notes.push(seen);
            }
        });
        let Some((number, asked)) = asked else {
            return Ok(response(reply::json(404, &json!({"error": {"message": "no such path"}}))));
        };
        match reply::reply(self.script.answer(number), &asked) {
            Some(reply) => Ok(response(reply)),
            None => std::future::pending().await,
        }
    }
}

/// None for a request that is too large or breaks off.
pub(in crate::fake) async fn read(request: Request<Incoming>) -> Option<Seen> {
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
    Some(Seen {
        method: head.method.as_str().to_owned(),
        path: head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        headers: headers.collect(),
        body,
    })
}

fn response(reply: Reply) -> Response<Steps> {
    let mut response = Response::new(reply.body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or_default();
    for (name, value) in reply.headers {
        if let Ok(value) = value.try_into() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

//! The common part of all stand-ins: a local port, its connections and the recorded requests.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Maximum number of open connections; further ones wait.
const CONNECTIONS_MAX: usize = 64;
const BODY_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// Maximum lifetime of a connection.
const CONNECTION_MAX: Duration = Duration::from_mins(30);

/// Headers whose value is a credential.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "proxy-authorization", "cookie"];

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

    /// Reads a request; `None` if it is too large or breaks off.
    async fn read(request: Request<Incoming>) -> Option<Self> {
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
        Some(Self {
            method: head.method.as_str().to_owned(),
            path: head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers: headers.collect(),
            body,
        })
    }
}

/// The sender of the requests that a service records.
pub(super) type RequestRecorder = watch::Sender<Vec<RecordedRequest>>;

pub(super) trait FakeService: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers a request; `None` stands for one that is too large or breaks off.
    fn answer_request(
        &self,
        request: Option<RecordedRequest>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// A service on a free local port; dropping it ends the service and every hanging response.
#[derive(Debug)]
pub(super) struct FakeListener {
    pub(super) address: SocketAddr,
    seen: watch::Receiver<Vec<RecordedRequest>>,
    _end: DropGuard,
}

impl FakeListener {
    pub(super) async fn start<S: FakeService>(
        make_service: impl FnOnce(RequestRecorder) -> S,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (recorder, seen) = watch::channel(Vec::new());
        let service = Arc::new(make_service(recorder));
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(async move {
            until.run_until_cancelled(accept_connections(listener, service)).await
        });
        Ok(Self { address, seen, _end: end.drop_guard() })
    }

    pub(super) fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.seen.borrow().clone()
    }

    pub(super) async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        match self.seen.clone().wait_for(|seen| seen.len() >= count).await {
            Ok(seen) => seen.clone(),
            Err(_) => self.recorded_requests(),
        }
    }
}

async fn accept_connections(listener: TcpListener, service: Arc<impl FakeService>) {
    // Dropping this future drops the set, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        if let Ok((stream, _)) = listener.accept().await {
            let serving = serve_connection(stream, Arc::clone(&service));
            connections.spawn(tokio::time::timeout(CONNECTION_MAX, serving));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, service: Arc<impl FakeService>) {
    let service = &*service;
    let answer = service_fn(move |request| async move {
        let request = RecordedRequest::read(request).await;
        Ok::<_, Infallible>(service.answer_request(request).await)
    });
    // Broken connections are the point of many scripts.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

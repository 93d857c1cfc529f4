//! A receiver of messages on a local port: records the requests, and answers as configured.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::server::{RecordedRequest, read_request};

/// Maximum number of open connections; further ones wait.
const CONNECTIONS_MAX: usize = 64;

/// A running receiver; dropping it ends it.
#[derive(Debug)]
pub struct FakeReceiver {
    address: SocketAddr,
    seen: watch::Receiver<Vec<RecordedRequest>>,
    _end: DropGuard,
}

/// A response of the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverReply {
    /// The HTTP status.
    pub status: u16,
    /// Seconds in the `retry-after` header, if it is sent.
    pub retry_after: Option<u32>,
    /// The body.
    pub body: String,
}

impl ReceiverReply {
    /// Creates a response with this status and an empty body.
    pub fn with_status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

impl FakeReceiver {
    /// Listens on a free local port. The first requests are answered with `first`, in order, and
    /// all later ones with 200. Needs a Tokio runtime with time and I/O.
    pub async fn start(first: impl IntoIterator<Item = ReceiverReply>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (notes, seen) = watch::channel(Vec::new());
        let desk = Arc::new(ReceiverState { first: first.into_iter().collect(), notes });
        let end = CancellationToken::new();
        let until = end.clone();
        tokio::spawn(
            async move { until.run_until_cancelled(accept_connections(listener, desk)).await },
        );
        Ok(Self { address, seen, _end: end.drop_guard() })
    }

    /// Returns a URL of the receiver: `http://127.0.0.1:4711/path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests so far, in order.
    pub fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.seen.borrow().clone()
    }

    /// Waits until `count` requests have arrived, and returns all requests so far.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        match self.seen.clone().wait_for(|seen| seen.len() >= count).await {
            Ok(seen) => seen.clone(),
            Err(_) => self.recorded_requests(),
        }
    }
}

/// The state that all connections share.
struct ReceiverState {
    first: Vec<ReceiverReply>,
    notes: watch::Sender<Vec<RecordedRequest>>,
}

async fn accept_connections(listener: TcpListener, desk: Arc<ReceiverState>) {
    // Dropping this future drops the set, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve_connection(stream, Arc::clone(&desk)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, desk: Arc<ReceiverState>) {
    let answer = service_fn(|request| desk.answer_request(request));
    // A broken connection needs no reaction.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

impl ReceiverState {
    async fn answer_request(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let Some(seen) = read_request(request).await else {
            return Ok(build_response(ReceiverReply::with_status(413)));
        };
        let mut number = 0;
        self.notes.send_modify(|notes| {
            number = notes.len();
            notes.push(seen);
        });
        Ok(build_response(
            self.first.get(number).cloned().unwrap_or_else(|| ReceiverReply::with_status(200)),
        ))
    }
}

fn build_response(reply: ReceiverReply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or_default();
    if let Some(seconds) = reply.retry_after {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    response
}

//! A receiver of messages on a local port: records the requests, and answers as configured.

use std::io;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Response, StatusCode};

use super::listener::{FakeListener, FakeService, RecordedRequest, RequestRecorder};

/// A running receiver; dropping it ends it.
#[derive(Debug)]
pub struct FakeReceiver {
    listener: FakeListener,
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
        let first = first.into_iter().collect();
        let listener = FakeListener::start(|recorder| ReceiverService { first, recorder }).await?;
        Ok(Self { listener })
    }

    /// Returns a URL of the receiver: `http://127.0.0.1:4711/path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener.address)
    }

    /// Returns all requests so far, in order.
    pub fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.listener.recorded_requests()
    }

    /// Waits until `count` requests have arrived, and returns all requests so far.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        self.listener.wait_for_requests(count).await
    }
}

struct ReceiverService {
    first: Vec<ReceiverReply>,
    recorder: RequestRecorder,
}

impl FakeService for ReceiverService {
    type Body = Full<Bytes>;

    async fn answer_request(&self, request: Option<RecordedRequest>) -> Response<Full<Bytes>> {
        let Some(seen) = request else {
            return build_response(ReceiverReply::with_status(413));
        };
        let mut number = 0;
        self.recorder.send_modify(|requests| {
            number = requests.len();
            requests.push(seen);
        });
        let reply = self.first.get(number).cloned();
        build_response(reply.unwrap_or_else(|| ReceiverReply::with_status(200)))
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

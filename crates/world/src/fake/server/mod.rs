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

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::{Response, StatusCode};
use serde_json::json;

pub use super::listener::RecordedRequest;
pub use answer::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript, FakeStopReason,
    FakeToolCall, FakeTurn, FakeWindowReset,
};

use super::listener::{FakeListener, FakeService, RequestRecorder};
use reply::{FakeBody, FakeReply};
use wire::{FakeModelCall, FakeProtocol};

/// Maximum number of recorded requests; later ones are answered but not recorded.
const REQUESTS_KEPT_MAX: usize = 1_000;

/// A running service; dropping it ends it and every hanging response.
#[derive(Debug)]
pub struct FakeServer {
    listener: FakeListener,
}

impl FakeServer {
    /// Listens on a free local port and answers by `script`. Needs a Tokio runtime with time and
    /// I/O.
    pub async fn start(script: impl Into<FakeScript>) -> io::Result<Self> {
        let script = script.into();
        let calls = AtomicUsize::new(0);
        let listener =
            FakeListener::start(|recorder| ScriptedService { script, calls, recorder }).await?;
        Ok(Self { listener })
    }

    /// Returns the base URL, without a path: `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address)
    }

    /// Returns all recorded requests, in order.
    pub fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.listener.recorded_requests()
    }

    /// Waits until `count` requests have arrived, and returns all recorded ones.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        self.listener.wait_for_requests(count).await
    }

    /// Returns the recorded requests that are calls of a model.
    pub fn model_calls(&self) -> Vec<RecordedRequest> {
        let mut seen = self.recorded_requests();
        seen.retain(|request| FakeProtocol::from_request(&request.method, &request.path).is_some());
        seen
    }
}

struct ScriptedService {
    script: FakeScript,
    calls: AtomicUsize,
    recorder: RequestRecorder,
}

impl FakeService for ScriptedService {
    type Body = FakeBody;

    async fn answer_request(&self, request: Option<RecordedRequest>) -> Response<FakeBody> {
        let Some(seen) = request else {
            return build_response(reply::json_reply(
                413,
                &json!({"error": "too large for the fake"}),
            ));
        };
        let protocol = FakeProtocol::from_request(&seen.method, &seen.path);
        let asked = protocol.map(|protocol| {
            let number = self.calls.fetch_add(1, Ordering::Relaxed);
            (number, FakeModelCall::from_body(protocol, &seen.json(), number))
        });
        self.recorder.send_modify(|requests| {
            if requests.len() < REQUESTS_KEPT_MAX {
                requests.push(seen);
            }
        });
        let Some((number, asked)) = asked else {
            let missing = json!({"error": {"message": "no such path"}});
            return build_response(reply::json_reply(404, &missing));
        };
        match reply::build_reply(self.script.answer_for_call(number), &asked) {
            Some(reply) => build_response(reply),
            None => std::future::pending().await,
        }
    }
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

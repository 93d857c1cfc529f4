//! Turns a scripted response into HTTP: status, headers, and a body in steps.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use serde_json::Value;

use super::answer::{FakeAnswer, FakeFailure, FakeHttpError, FakeTurn};
use super::wire::{self, FakeModelCall, FakeProtocol, FakeSseEvent};

pub(super) struct FakeReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: FakeBody,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FakeBodyStep {
    Bytes(Bytes),
    Hang,
    Flush,
    Cut,
}

/// A body as a list of steps; it ends properly after the last one.
pub(super) struct FakeBody(VecDeque<FakeBodyStep>);

/// The error that breaks the connection.
#[derive(Debug)]
pub(super) struct BrokenConnection;

impl fmt::Display for BrokenConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken on purpose")
    }
}

impl std::error::Error for BrokenConnection {}

impl Body for FakeBody {
    type Data = Bytes;
    type Error = BrokenConnection;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenConnection>>> {
        let steps = &mut self.get_mut().0;
        match steps.front() {
            // No waker is registered: the connection's task is dropped with the server.
            Some(FakeBodyStep::Hang) => Poll::Pending,
            // Pending without more data makes hyper flush the frames that it has already.
            Some(FakeBodyStep::Flush) => {
                steps.pop_front();
                context.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(steps.pop_front().map(|step| match step {
                FakeBodyStep::Bytes(bytes) => Ok(Frame::data(bytes)),
                FakeBodyStep::Hang | FakeBodyStep::Flush | FakeBodyStep::Cut => {
                    Err(BrokenConnection)
                }
            })),
        }
    }
}

/// Returns the response to a call; `None` if there is never to be one.
pub(super) fn build_reply(answer: &FakeAnswer, asked: &FakeModelCall) -> Option<FakeReply> {
    match answer {
        FakeAnswer::Turn(speech) if asked.streaming => {
            Some(stream_reply(asked.protocol.build_stream(speech, asked)))
        }
        FakeAnswer::Turn(speech) => {
            Some(json_reply(200, &asked.protocol.build_body(speech, asked)))
        }
        FakeAnswer::Error(error) => Some(build_error_reply(error, asked.protocol)),
        FakeAnswer::Trouble(trouble) => build_failure_reply(*trouble, asked),
    }
}

fn build_error_reply(error: &FakeHttpError, protocol: FakeProtocol) -> FakeReply {
    match error {
        FakeHttpError::Page => return page_reply(502),
        FakeHttpError::Redirect => {
            let mut reply = page_reply(302);
            reply.headers.push(("location", "http://127.0.0.1:9/elsewhere".to_owned()));
            return reply;
        }
        _ => {}
    }
    let (status, body) = protocol.build_error(error);
    let mut reply = json_reply(status, &body);
    reply.headers.extend(wire::limit_headers(error, protocol));
    reply
}

fn build_failure_reply(trouble: FakeFailure, asked: &FakeModelCall) -> Option<FakeReply> {
    let protocol = asked.protocol;
    let speech = FakeTurn { text: "Half of it".to_owned(), ..FakeTurn::default() };
    let mut events = protocol.build_stream(&speech, asked);
    let rest = events.split_off(1);
    match trouble {
        FakeFailure::HangBeforeHeaders => return None,
        FakeFailure::WrongContentType => return Some(page_reply(200)),
        FakeFailure::Empty => events.clear(),
        FakeFailure::HangAfterFirstEvent => {
            return Some(stream_reply_then(events, [FakeBodyStep::Hang]));
        }
        FakeFailure::Cut => {
            events.extend(first_half(rest));
            return Some(stream_reply_then(events, [FakeBodyStep::Flush, FakeBodyStep::Cut]));
        }
        FakeFailure::EndsEarly => events.extend(first_half(rest)),
        FakeFailure::Malformed => {
            events.push(FakeSseEvent::from_raw("data: {\"type\":\"content_block_del\n\n"));
        }
        FakeFailure::OverloadedMidStream => events.push(protocol.build_error_event(true)),
        FakeFailure::UnheardMidStream => events.push(protocol.build_error_event(false)),
        FakeFailure::HugeEvent(bytes) => {
            events.push(FakeSseEvent::from_raw(&format!("data: \"{}\"\n\n", "x".repeat(bytes))));
        }
    }
    Some(stream_reply(events))
}

/// Returns the first half of the events: some text, and no end.
fn first_half(mut events: Vec<FakeSseEvent>) -> Vec<FakeSseEvent> {
    events.truncate(events.len() / 2);
    events
}

fn stream_reply(events: Vec<FakeSseEvent>) -> FakeReply {
    stream_reply_then(events, [])
}

fn stream_reply_then(
    events: Vec<FakeSseEvent>,
    last: impl IntoIterator<Item = FakeBodyStep>,
) -> FakeReply {
    let steps =
        events.into_iter().map(|event| FakeBodyStep::Bytes(Bytes::from(event.0))).chain(last);
    identified_reply(200, "text/event-stream; charset=utf-8", steps.collect())
}

pub(super) fn json_reply(status: u16, body: &Value) -> FakeReply {
    let body = [FakeBodyStep::Bytes(Bytes::from(body.to_string()))];
    identified_reply(status, "application/json", body.into())
}

fn identified_reply(status: u16, content: &str, body: VecDeque<FakeBodyStep>) -> FakeReply {
    FakeReply {
        status,
        headers: vec![
            ("content-type", content.to_owned()),
            ("request-id", wire::REQUEST_ID.to_owned()),
            ("x-request-id", wire::REQUEST_ID.to_owned()),
        ],
        body: FakeBody(body),
    }
}

fn page_reply(status: u16) -> FakeReply {
    let html = "<html><body>A gateway that you did not ask.</body></html>";
    FakeReply {
        status,
        headers: vec![("content-type", "text/html".to_owned())],
        body: FakeBody([FakeBodyStep::Bytes(Bytes::from_static(html.as_bytes()))].into()),
    }
}

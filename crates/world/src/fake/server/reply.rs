//! Turns a scripted response into HTTP: status, headers, and a body in steps.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use serde_json::Value;

use super::answer::{Answer, Speech, Trouble};
use super::wire::{self, Asked, Event};

/// An HTTP response of the service.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Steps,
}

/// A step of sending a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Bytes(Bytes),
    Hang,
    Flush,
    Cut,
}

/// A body as a list of steps; it ends properly after the last one.
pub(super) struct Steps(VecDeque<Step>);

/// The error that breaks the connection.
#[derive(Debug)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken on purpose")
    }
}

impl std::error::Error for Broken {}

impl Body for Steps {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let steps = &mut self.get_mut().0;
        match steps.front() {
            // No waker is registered: the connection's task is dropped with the server.
            Some(Step::Hang) => Poll::Pending,
            // Pending without more data makes hyper flush the frames that it has already.
            Some(Step::Flush) => {
                steps.pop_front();
                context.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(steps.pop_front().map(|step| match step {
                Step::Bytes(bytes) => Ok(Frame::data(bytes)),
                Step::Hang | Step::Flush | Step::Cut => Err(Broken),
            })),
        }
    }
}

/// Returns the response to a call; `None` if there is never to be one.
pub(super) fn reply(answer: &Answer, asked: &Asked) -> Option<Reply> {
    match answer {
        Answer::Turn(speech) if asked.streaming => {
            Some(streamed(asked.protocol.stream(speech, asked)))
        }
        Answer::Turn(speech) => Some(json(200, &asked.protocol.whole(speech, asked))),
        Answer::Error(error) => Some(wire::refusal(error, asked.protocol)),
        Answer::Trouble(trouble) => troubled(*trouble, asked),
    }
}

fn troubled(trouble: Trouble, asked: &Asked) -> Option<Reply> {
    let protocol = asked.protocol;
    let speech = Speech { text: "Half of it".to_owned(), ..Speech::default() };
    let mut events = protocol.stream(&speech, asked);
    let rest = events.split_off(1);
    match trouble {
        Trouble::HangBeforeHeaders => return None,
        Trouble::WrongContentType => return Some(page(200)),
        Trouble::Empty => events.clear(),
        Trouble::HangAfterFirstEvent => return Some(stream(events, [Step::Hang])),
        Trouble::Cut => {
            events.extend(half(rest));
            return Some(stream(events, [Step::Flush, Step::Cut]));
        }
        Trouble::EndsEarly => events.extend(half(rest)),
        Trouble::Malformed => events.push(Event::raw("data: {\"type\":\"content_block_del\n\n")),
        Trouble::OverloadedMidStream => events.push(protocol.error_event(true)),
        Trouble::UnheardMidStream => events.push(protocol.error_event(false)),
        Trouble::HugeEvent(bytes) => {
            events.push(Event::raw(&format!("data: \"{}\"\n\n", "x".repeat(bytes))));
        }
    }
    Some(streamed(events))
}

/// Returns the first half of the events: some text, and no end.
fn half(mut events: Vec<Event>) -> Vec<Event> {
    events.truncate(events.len() / 2);
    events
}

fn streamed(events: Vec<Event>) -> Reply {
    stream(events, [])
}

fn stream(events: Vec<Event>, last: impl IntoIterator<Item = Step>) -> Reply {
    let steps = events.into_iter().map(|event| Step::Bytes(Bytes::from(event.0))).chain(last);
    Reply {
        status: 200,
        headers: vec![
            ("content-type", "text/event-stream; charset=utf-8".to_owned()),
            ("request-id", wire::REQUEST_ID.to_owned()),
            ("x-request-id", wire::REQUEST_ID.to_owned()),
        ],
        body: Steps(steps.collect()),
    }
}

pub(super) fn json(status: u16, body: &Value) -> Reply {
    Reply {
        status,
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("request-id", wire::REQUEST_ID.to_owned()),
            ("x-request-id", wire::REQUEST_ID.to_owned()),
        ],
        body: Steps([Step::Bytes(Bytes::from(body.to_string()))].into()),
    }
}

pub(super) fn page(status: u16) -> Reply {
    let html = "<html><body>A gateway that you did not ask.</body></html>";
    Reply {
        status,
        headers: vec![("content-type", "text/html".to_owned())],
        body: Steps([Step::Bytes(Bytes::from_static(html.as_bytes()))].into()),
    }
}

//! The wire formats of the protocols: path, stream, errors.

mod chat;
mod messages;
mod responses;

use serde_json::{Value, json};

use super::answer::{HttpError, RetryAfter, Speech};
use super::reply::{self, Reply};

/// The request id in every response, so that tests can check that a fault keeps it.
pub(super) const REQUEST_ID: &str = "req_fake123";

/// The usage of every turn, if it is reported.
pub(super) const INPUT_TOKENS: u64 = 100;
pub(super) const CACHED_TOKENS: u64 = 10;
pub(super) const OUTPUT_TOKENS: u64 = 20;

/// The protocol of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Messages,
    Responses,
    Chat,
}

/// The properties of a call that its response depends on.
pub(super) struct Asked {
    pub(super) protocol: Protocol,
    pub(super) streaming: bool,
    pub(super) model: String,
    /// The number of the call; the ids of tool calls and messages contain it.
    pub(super) number: usize,
}

impl Asked {
    pub(super) fn read(protocol: Protocol, body: &Value, number: usize) -> Self {
        Self {
            protocol,
            streaming: body["stream"].as_bool().unwrap_or(false),
            model: body["model"].as_str().unwrap_or("unknown").to_owned(),
            number,
        }
    }
}

/// A serialized event of a stream.
pub(super) struct Event(pub(super) String);

impl Event {
    pub(super) fn raw(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn data(data: &Value) -> Self {
        Self(format!("data: {data}\n\n"))
    }

    /// Creates an event with its type in an `event` field as well, as two of the protocols require.
    fn named(data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Self(format!("event: {name}\ndata: {data}\n\n"))
    }
}

impl Protocol {
    /// Returns the protocol of a request; `None` if it is no call of a model.
    pub(super) fn of(method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match method {
            "POST" if path.ends_with("/v1/messages") => Some(Self::Messages),
            "POST" if path.ends_with("/chat/completions") => Some(Self::Chat),
            "POST" if path.ends_with("/responses") => Some(Self::Responses),
            _ => None,
        }
    }

    pub(super) fn stream(self, speech: &Speech, asked: &Asked) -> Vec<Event> {
        match self {
            Self::Messages => messages::stream(speech, asked),
            Self::Responses => responses::stream(speech, asked),
            Self::Chat => chat::stream(speech, asked),
        }
    }

    pub(super) fn whole(self, speech: &Speech, asked: &Asked) -> Value {
        match self {
            Self::Messages => messages::whole(speech, asked),
            Self::Responses => responses::whole(speech, asked),
            Self::Chat => chat::whole(speech, asked),
        }
    }

    pub(super) fn error_event(self, overloaded: bool) -> Event {
        match self {
            Self::Messages => messages::error_event(overloaded),
            Self::Responses => responses::error_event(overloaded),
            Self::Chat => chat::error_event(overloaded),
        }
    }
}

/// Returns the response for an error status.
pub(super) fn refusal(error: &HttpError, protocol: Protocol) -> Reply {
    match error {
        HttpError::Page => return reply::page(502),
        HttpError::Redirect => {
            let mut reply = reply::page(302);
            reply.headers.push(("location", "http://127.0.0.1:9/elsewhere".to_owned()));
            return reply;
        }
        _ => {}
    }
    let (status, body) = match protocol {
        Protocol::Messages => messages::error(error),
        Protocol::Responses | Protocol::Chat => openai_error(error),
    };
    let mut reply = reply::json(status, &body);
    reply.headers.extend(limits(error, protocol));
    reply
}

/// Returns the headers about a rate limit or a usage limit.
fn limits(error: &HttpError, protocol: Protocol) -> Vec<(&'static str, String)> {
    match (error, protocol) {
        (HttpError::RateLimit(RetryAfter::Seconds(seconds)), _) => {
            vec![("retry-after", seconds.to_string())]
        }
        (HttpError::RateLimit(RetryAfter::Date(date)), _) => vec![("retry-after", date.clone())],
        (HttpError::UsageLimit(reset), Protocol::Messages) => messages::window(*reset),
        _ => vec![],
    }
}

/// Returns the status and the body of an error; both protocols of `OpenAI` have the same.
fn openai_error(error: &HttpError) -> (u16, Value) {
    let (status, kind, code, message) = match error {
        HttpError::Unauthorized => (
            401,
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided: sk-fake-0123456789abcdef0123.",
        ),
        HttpError::Forbidden => (403, "invalid_request_error", None, "You have no permission."),
        HttpError::PaymentRequired => (402, "invalid_request_error", None, "Payment required"),
        HttpError::NoCredit => {
            (429, "insufficient_quota", Some("insufficient_quota"), "You exceeded your quota.")
        }
        HttpError::NoSuchModel => {
            (404, "invalid_request_error", Some("model_not_found"), "The model does not exist.")
        }
        HttpError::RateLimit(_) => {
            (429, "requests", Some("rate_limit_exceeded"), "Rate limit reached.")
        }
        HttpError::UsageLimit(_) => {
            (429, "usage_limit_reached", None, "The usage limit is reached")
        }
        HttpError::Internal => (500, "server_error", None, "The server had an error."),
        HttpError::Unavailable => (503, "server_error", None, "Service unavailable."),
        HttpError::Overloaded => {
            (503, "server_error", Some("server_is_overloaded"), "The server is overloaded.")
        }
        HttpError::ContextTooLong => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
            "Your input exceeds the context window of this model.",
        ),
        HttpError::TooLarge => (413, "invalid_request_error", None, "Request too large."),
        HttpError::Unheard => (418, "teapot_error", None, "Short and stout."),
        HttpError::Invalid | HttpError::Page | HttpError::Redirect => {
            (400, "invalid_request_error", Some("invalid_value"), "Invalid value: foo")
        }
    };
    let mut body =
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    if let HttpError::UsageLimit(Some(reset)) = error {
        body["error"]["resets_at"] = (reset.at.as_millis() / 1_000).into();
        body["error"]["resets_in_seconds"] = (reset.within.as_millis() / 1_000).into();
    }
    (status, body)
}

//! The wire formats of the protocols: path, stream, errors.

mod chat;
mod messages;
mod responses;

use serde_json::{Value, json};

use super::answer::{FakeHttpError, FakeRetryAfter, FakeTurn};

/// The request id in every response, so that tests can check that a fault keeps it.
pub(super) const REQUEST_ID: &str = "req_fake123";

/// The usage of every turn, if it is reported.
pub(super) const INPUT_TOKENS: u64 = 100;
pub(super) const CACHED_TOKENS: u64 = 10;
pub(super) const OUTPUT_TOKENS: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FakeProtocol {
    Messages,
    Responses,
    Chat,
}

/// The properties of a call that its response depends on.
pub(super) struct FakeModelCall {
    pub(super) protocol: FakeProtocol,
    pub(super) streaming: bool,
    pub(super) model: String,
    /// The number of the call; the ids of tool calls and messages contain it.
    pub(super) number: usize,
}

impl FakeModelCall {
    pub(super) fn from_body(protocol: FakeProtocol, body: &Value, number: usize) -> Self {
        Self {
            protocol,
            streaming: body["stream"].as_bool().unwrap_or(false),
            model: body["model"].as_str().unwrap_or("unknown").to_owned(),
            number,
        }
    }
}

pub(super) struct FakeSseEvent(pub(super) String);

impl FakeSseEvent {
    pub(super) fn from_raw(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn from_data(data: &Value) -> Self {
        Self(format!("data: {data}\n\n"))
    }

    /// Creates an event with its type in an `event` field as well, as two of the protocols require.
    fn from_named_data(data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Self(format!("event: {name}\ndata: {data}\n\n"))
    }
}

impl FakeProtocol {
    /// Returns the protocol of a request; `None` if it is no call of a model.
    pub(super) fn from_request(method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match method {
            "POST" if path.ends_with("/v1/messages") => Some(Self::Messages),
            "POST" if path.ends_with("/chat/completions") => Some(Self::Chat),
            "POST" if path.ends_with("/responses") => Some(Self::Responses),
            _ => None,
        }
    }

    pub(super) fn build_stream(
        self,
        speech: &FakeTurn,
        asked: &FakeModelCall,
    ) -> Vec<FakeSseEvent> {
        match self {
            Self::Messages => messages::build_stream(speech, asked),
            Self::Responses => responses::build_stream(speech, asked),
            Self::Chat => chat::build_stream(speech, asked),
        }
    }

    pub(super) fn build_body(self, speech: &FakeTurn, asked: &FakeModelCall) -> Value {
        match self {
            Self::Messages => messages::build_body(speech, asked),
            Self::Responses => responses::build_body(speech, asked),
            Self::Chat => chat::build_body(speech, asked),
        }
    }

    /// Returns the status and the body of an error.
    pub(super) fn build_error(self, error: &FakeHttpError) -> (u16, Value) {
        match self {
            Self::Messages => messages::build_error(error),
            Self::Responses | Self::Chat => build_openai_error(error),
        }
    }

    pub(super) fn build_error_event(self, overloaded: bool) -> FakeSseEvent {
        match self {
            Self::Messages => messages::build_error_event(overloaded),
            Self::Responses => responses::build_error_event(overloaded),
            Self::Chat => chat::build_error_event(overloaded),
        }
    }
}

pub(super) fn limit_headers(
    error: &FakeHttpError,
    protocol: FakeProtocol,
) -> Vec<(&'static str, String)> {
    match (error, protocol) {
        (FakeHttpError::RateLimit(FakeRetryAfter::Seconds(seconds)), _) => {
            vec![("retry-after", seconds.to_string())]
        }
        (FakeHttpError::RateLimit(FakeRetryAfter::Date(date)), _) => {
            vec![("retry-after", date.clone())]
        }
        (FakeHttpError::UsageLimit(reset), FakeProtocol::Messages) => {
            messages::window_headers(*reset)
        }
        _ => vec![],
    }
}

/// Returns the status and the body of an error; both protocols of `OpenAI` have the same.
fn build_openai_error(error: &FakeHttpError) -> (u16, Value) {
    let (status, kind, code, message) = match error {
        FakeHttpError::Unauthorized => (
            401,
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided: sk-fake-0123456789abcdef0123.",
        ),
        FakeHttpError::Forbidden => (403, "invalid_request_error", None, "You have no permission."),
        FakeHttpError::PaymentRequired => (402, "invalid_request_error", None, "Payment required"),
        FakeHttpError::NoCredit => {
            (429, "insufficient_quota", Some("insufficient_quota"), "You exceeded your quota.")
        }
        FakeHttpError::NoSuchModel => {
            (404, "invalid_request_error", Some("model_not_found"), "The model does not exist.")
        }
        FakeHttpError::RateLimit(_) => {
            (429, "requests", Some("rate_limit_exceeded"), "Rate limit reached.")
        }
        FakeHttpError::UsageLimit(_) => {
            (429, "usage_limit_reached", None, "The usage limit is reached")
        }
        FakeHttpError::Internal => (500, "server_error", None, "The server had an error."),
        FakeHttpError::Unavailable => (503, "server_error", None, "Service unavailable."),
        FakeHttpError::Overloaded => {
            (503, "server_error", Some("server_is_overloaded"), "The server is overloaded.")
        }
        FakeHttpError::ContextTooLong => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
            "Your input exceeds the context window of this model.",
        ),
        FakeHttpError::TooLarge => (413, "invalid_request_error", None, "Request too large."),
        FakeHttpError::Unheard => (418, "teapot_error", None, "Short and stout."),
        FakeHttpError::Invalid | FakeHttpError::Page | FakeHttpError::Redirect => {
            (400, "invalid_request_error", Some("invalid_value"), "Invalid value: foo")
        }
    };
    let mut body =
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    if let FakeHttpError::UsageLimit(Some(reset)) = error {
        body["error"]["resets_at"] = (reset.at.as_millis() / 1_000).into();
        body["error"]["resets_in_seconds"] = (reset.within.as_millis() / 1_000).into();
    }
    (status, body)
}

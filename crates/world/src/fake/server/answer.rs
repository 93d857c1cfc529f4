//! The scripted responses of the service, independent of the protocol.

use serde_json::Value;
use unstuck_core::time::{Span, Time};

/// The responses to the calls of a model, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeScript {
    /// The responses to the first calls.
    pub first: Vec<FakeAnswer>,
    /// The response to all later calls.
    pub then: FakeAnswer,
}

impl FakeScript {
    /// Creates a script that answers with `first`, and then always with `then`.
    pub fn new(first: impl IntoIterator<Item = FakeAnswer>, then: FakeAnswer) -> Self {
        Self { first: first.into_iter().collect(), then }
    }

    /// Returns the response to call `number`, counted from 0.
    pub(super) fn answer_for_call(&self, number: usize) -> &FakeAnswer {
        self.first.get(number).unwrap_or(&self.then)
    }
}

impl From<FakeAnswer> for FakeScript {
    fn from(always: FakeAnswer) -> Self {
        Self::new([], always)
    }
}

/// A scripted response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeAnswer {
    /// A turn of the model.
    Turn(FakeTurn),
    /// An HTTP error.
    Error(FakeHttpError),
    /// A failure of the connection or of the stream.
    Trouble(FakeFailure),
}

impl FakeAnswer {
    /// Returns a finished turn with this text.
    pub fn with_text(text: &str) -> Self {
        Self::Turn(FakeTurn { text: text.to_owned(), ..FakeTurn::default() })
    }

    /// Returns a turn in which the model calls one tool.
    pub fn with_call(name: &str, input: &Value) -> Self {
        Self::with_calls([FakeToolCall::new(name, input)])
    }

    /// Returns a turn in which the model calls these tools.
    pub fn with_calls(calls: impl IntoIterator<Item = FakeToolCall>) -> Self {
        Self::Turn(FakeTurn { calls: calls.into_iter().collect(), ..FakeTurn::default() })
    }

    /// Returns a turn with some text and this end.
    pub fn with_stop(stop: FakeStopReason) -> Self {
        Self::Turn(FakeTurn { text: "So far so".to_owned(), stop, ..FakeTurn::default() })
    }
}

/// The content of a model's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FakeTurn {
    /// The text; no text part is sent if it is empty.
    pub text: String,
    /// The calls of tools.
    pub calls: Vec<FakeToolCall>,
    /// The reason for which the turn ends.
    pub stop: FakeStopReason,
    /// `true` if the service leaves out the usage of the turn, as some do.
    pub unmeasured: bool,
}

/// A call of a tool by the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeToolCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments as they go over the wire; need not be JSON.
    pub arguments: String,
}

impl FakeToolCall {
    /// Creates a call of the tool `name` with `input`.
    pub fn new(name: &str, input: &Value) -> Self {
        Self { name: name.to_owned(), arguments: input.to_string() }
    }
}

/// The reason for which a turn ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FakeStopReason {
    /// The model is done, or waits for the results of its calls.
    #[default]
    Done,
    /// The limit of output tokens is reached.
    OutputLimit,
    /// The model declines.
    Refusal,
    /// The turn is unfinished, and the client has to request its continuation. Only Anthropic has
    /// this; the other protocols send a finished turn.
    Paused,
    /// A reason that no client knows.
    Unheard,
}

/// A response with an error status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeHttpError {
    /// 401: the key is wrong.
    Unauthorized,
    /// 403: the key lacks a permission.
    Forbidden,
    /// 402: payment is required first.
    PaymentRequired,
    /// The credit is used up; the status is the one that each service uses for it (400, 429).
    NoCredit,
    /// 404: the model does not exist.
    NoSuchModel,
    /// 429: too many requests or tokens.
    RateLimit(FakeRetryAfter),
    /// 429: the usage limit of a plan's window is reached.
    UsageLimit(Option<FakeWindowReset>),
    /// 500: internal error.
    Internal,
    /// 503, without an explanation.
    Unavailable,
    /// 529 or 503: overloaded, with the service's own error type.
    Overloaded,
    /// 400: the conversation exceeds the model's context window.
    ContextTooLong,
    /// 413: the request has too many bytes.
    TooLarge,
    /// 400: any other fault of the request.
    Invalid,
    /// 418 with an error type that no client knows.
    Unheard,
    /// 502 with an HTML page, as from a gateway in between.
    Page,
    /// 302 to another URL.
    Redirect,
}

/// The form in which a rate limit says when to retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeRetryAfter {
    /// No statement.
    Unsaid,
    /// Seconds to wait.
    Seconds(u32),
    /// An HTTP date.
    Date(String),
}

/// The time at which a plan's window begins anew. Services report it as a time or as a span; the
/// fake has no clock, so it is given both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FakeWindowReset {
    /// The time of the reset.
    pub at: Time,
    /// The span until the reset.
    pub within: Span,
}

/// A failure of the connection or of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeFailure {
    /// The request is read, and no response comes until the server ends.
    HangBeforeHeaders,
    /// The stream begins, and no further event comes until the server ends.
    HangAfterFirstEvent,
    /// The connection breaks in the middle of the stream.
    Cut,
    /// The stream ends properly before the turn is complete.
    EndsEarly,
    /// The stream contains an event that is not JSON.
    Malformed,
    /// A success with an empty body.
    Empty,
    /// A success with an HTML page.
    WrongContentType,
    /// An error event after the first event: overloaded.
    OverloadedMidStream,
    /// An error event of a type that no client knows.
    UnheardMidStream,
    /// A single event of this many bytes.
    HugeEvent(usize),
}

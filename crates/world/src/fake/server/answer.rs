//! What the service can be told to answer, in words that hold for every protocol.

use serde_json::Value;
use unstuck_core::time::{Span, Time};

/// The answers to the calls of a model, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// To the first calls.
    pub first: Vec<Answer>,
    /// To all that follow.
    pub then: Answer,
}

impl Script {
    /// `first`, and then `then` for ever.
    pub fn new(first: impl IntoIterator<Item = Answer>, then: Answer) -> Self {
        Self { first: first.into_iter().collect(), then }
    }

    /// The answer to call `number`, counted from 0.
    pub(super) fn answer(&self, number: usize) -> &Answer {
        self.first.get(number).unwrap_or(&self.then)
    }
}

impl From<Answer> for Script {
    fn from(always: Answer) -> Self {
        Self::new([], always)
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The model takes its turn.
    Turn(Speech),
    /// The service answers with an error.
    Error(HttpError),
    /// Something on the way goes wrong.
    Trouble(Trouble),
}

impl Answer {
    /// The model says `text` and is done.
    pub fn text(text: &str) -> Self {
        Self::Turn(Speech { text: text.to_owned(), ..Speech::default() })
    }

    /// The model wants one tool to be used.
    pub fn call(name: &str, input: &Value) -> Self {
        Self::calls([Call::new(name, input)])
    }

    /// The model wants some tools to be used.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::Turn(Speech { calls: calls.into_iter().collect(), ..Speech::default() })
    }

    /// The model's turn ends otherwise than by being done.
    pub fn stopped(stop: Stop) -> Self {
        Self::Turn(Speech { text: "So far so".to_owned(), stop, ..Speech::default() })
    }
}

/// What the model says in its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech {
    /// Its words; none when empty.
    pub text: String,
    /// The tools it wants used.
    pub calls: Vec<Call>,
    /// How the turn ends.
    pub stop: Stop,
    /// Whether the service leaves out what the turn used, as some do.
    pub unmeasured: bool,
}

/// A tool the model wants used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// What it is given, as it goes over the wire; need not be JSON.
    pub arguments: String,
}

impl Call {
    /// The tool `name`, given `input`.
    pub fn new(name: &str, input: &Value) -> Self {
        Self { name: name.to_owned(), arguments: input.to_string() }
    }
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// The model is done, or waits for its tools.
    #[default]
    Done,
    /// At the longest answer allowed.
    OutputLimit,
    /// The model declines.
    Refusal,
    /// It is not finished: the service is to be asked to go on. Only Anthropic's does that; the
    /// others are done.
    Paused,
    /// For a reason that nobody has heard of.
    Unheard,
}

/// An answer with a status that is not success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// 401: the key is wrong.
    Unauthorized,
    /// 403: the key may not do this.
    Forbidden,
    /// 402: somebody has to pay first.
    PaymentRequired,
    /// The credit is used up, said with the status each service uses for it (400, 429).
    NoCredit,
    /// 404: there is no such model.
    NoSuchModel,
    /// 429: too many requests or tokens.
    RateLimit(RetryAfter),
    /// 429: a plan's window is used up.
    UsageLimit(Option<Reset>),
    /// 500.
    Internal,
    /// 503, with nothing to say about it.
    Unavailable,
    /// 529 or 503: overloaded, said in the service's own words.
    Overloaded,
    /// 400: the conversation does not fit the model.
    ContextTooLong,
    /// 413: the request has too many bytes.
    TooLarge,
    /// 400: anything else about the request.
    Invalid,
    /// 418 with an error type that nobody has heard of.
    Unheard,
    /// 502 with a page of HTML: something in between answers.
    Page,
    /// 302 to somewhere else.
    Redirect,
}

/// How a rate limit says when to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// Not at all.
    Unsaid,
    /// In so many seconds.
    Seconds(u32),
    /// At an HTTP date.
    Date(String),
}

/// When a plan's window begins anew. A service says it as a time or as a span; the fake has no
/// clock, so it is told both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The time.
    pub at: Time,
    /// How far off that is.
    pub within: Span,
}

/// Something on the way goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The request is taken, and nothing comes back until the server ends.
    HangBeforeHeaders,
    /// The stream begins, and nothing follows until the server ends.
    HangAfterFirstEvent,
    /// The connection breaks in the middle of the stream.
    Cut,
    /// The stream ends properly, before the model does.
    EndsEarly,
    /// An event that is no JSON.
    Malformed,
    /// Success, with no body.
    Empty,
    /// Success, with a page of HTML.
    WrongContentType,
    /// An error event after the first words: overloaded.
    OverloadedMidStream,
    /// An error event of a type that nobody has heard of.
    UnheardMidStream,
    /// One event of so many bytes.
    HugeEvent(usize),
}

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
mod listen;
mod reply;
mod wire;

pub use answer::{
    FakeAnswer, FakeFailure, FakeHttpError, FakeRetryAfter, FakeScript, FakeStopReason,
    FakeToolCall, FakeTurn, FakeWindowReset,
};
pub(in crate::fake) use listen::read_request;
pub use listen::{FakeServer, RecordedRequest};

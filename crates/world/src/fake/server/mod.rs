//! A model's service that fails on demand, on a local port.
//!
//! It speaks the three protocols that models are called by (Anthropic Messages, `OpenAI` Responses
//! and Chat Completions) and answers by a script: the n-th call of a model gets the n-th answer,
//! whatever it asks. That makes it deterministic, and good enough for real agent programs. What is
//! no call of a model (a look at the address, a list of models) leaves the script alone.
//!
//! A refused connection is a port nobody listens on, an unknown host a name under `.invalid`;
//! neither needs a server.

mod answer;
mod listen;
mod reply;
mod wire;

pub use answer::{Answer, Call, HttpError, Reset, RetryAfter, Script, Speech, Stop, Trouble};
pub(in crate::fake) use listen::read;
pub use listen::{Seen, Server};

//! Telling: from what the engine knows to what a person or an agent reads.
//!
//! The engine keeps facts, [`question`](crate::question) and [`text`](crate::text) make sentences;
//! this is the way from one to the other. Texts are made when they are needed, never stored in a
//! decision.

mod context;
mod narration;
mod question;

pub use context::context;
pub use narration::narration;
pub use question::{operator_text, question_text};

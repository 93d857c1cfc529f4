//! Live sentences, messages, and what an agent reads after a failure.

mod messages;
mod narration;
mod replanning;

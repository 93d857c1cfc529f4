//! Live sentences, and what an agent reads after a failure.

mod narration;
mod replanning;

//! Tests of narration, messages and replanning texts.

mod messages;
mod narration;
mod replanning;

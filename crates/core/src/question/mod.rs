//! Questions: what a person is asked, and what they can choose.

mod kind;

pub use kind::{Decision, QuestionKind, UnknownDecision};

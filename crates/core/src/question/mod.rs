//! Questions: what a person is asked, and what they can choose.
//!
//! The words are made by rules from typed facts and pass the linter of [`crate::text`]; a message
//! of a fault never reaches them.

mod advice;
mod asked;
mod kind;
mod options;
mod reason;
mod text;

pub use asked::{Asked, DefaultAnswer, TriedAttempt};
pub use kind::{Decision, QuestionKind, UnknownDecision};
pub use options::{OptionsContext, QuestionOption, options};
pub use reason::Reason;
pub use text::{OPERATOR_TEXT_BYTES_MAX, QuestionText, operator_text, text};

#[cfg(test)]
mod tests;

//! Words: what plain English is, and the phrases that texts are made of.
//!
//! Whatever the public reads passes [`lint()`]: plain words, no technical detail. Questions are
//! made of these words in [`question`](crate::question), everything else in
//! [`tell`](crate::tell). Nothing here decides anything.

pub(crate) mod bounded;
pub mod brief;
mod failed;
mod grade;
mod known;
mod lint;
mod obstacle;
mod plain;
mod say;
mod service;
mod words;

pub use failed::failed;
pub use grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
pub use lint::{FINDINGS_MAX, Finding, LINT_BYTES_MAX, Rule, lint};
pub use obstacle::obstacle;
pub use plain::{QUESTION_CHARS_MAX, VALUE_CHARS_MAX, plain_or, plain_question, sentence_or};
pub(crate) use say::{capital, noun};
pub use say::{count, said, span, tasks, title};
pub use service::{service_at, service_of};

#[cfg(test)]
mod tests;

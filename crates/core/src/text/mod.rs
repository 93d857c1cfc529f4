//! Plain English: the linter, and the phrases that texts are made of.
//!
//! Unstuck's own words to people pass [`lint()`]: plain words, no technical detail. Foreign words are quoted
//! verbatim ([`quoted`]). Questions are built from these words in [`question`](crate::question), everything
//! else in [`tell`](crate::tell). No decision is made here.

pub(crate) mod bounded;
pub mod brief;
mod failed;
mod grade;
mod known;
mod lint;
mod obstacle;
mod program;
mod refused_push;
mod say;
mod service;
mod verbatim;
mod words;

pub use bounded::without_escapes;
pub use failed::{failed, failed_at, slow_step};
pub use grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
pub use lint::{FINDINGS_MAX, Finding, LINT_BYTES_MAX, Rule, lint};
pub use obstacle::{Obstacle, obstacle};
pub(crate) use program::missing_program;
pub use refused_push::push_refusal;
pub(crate) use say::{capital, noun};
pub use say::{count, said, span, tasks, title};
pub use service::{agent_service, provider_called, service_at, service_of};
pub use verbatim::{
    QUESTION_CHARS_MAX, VALUE_CHARS_MAX, name_in_sentence, our_words, quoted, verbatim,
};

#[cfg(test)]
mod tests;

//! Texts: what a person or an agent gets to read.
//!
//! Public texts are made by rules here and pass [`lint()`]: plain words, no technical detail. Texts
//! for agents ([`replan`], [`waited`]) are technical on purpose, and bounded. Nothing here decides
//! anything; see the design page on questions for what is asked when.

mod bounded;
mod failed;
mod grade;
mod instruct;
mod known;
mod lint;
mod narrate;
mod obstacle;
mod plain;
mod replan;
mod say;
mod waited;
mod words;

pub use failed::failed;
pub use grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
pub use lint::{FINDINGS_MAX, Finding, LINT_BYTES_MAX, Rule, lint};
pub use narrate::{Narration, narrate};
pub use obstacle::obstacle;
pub use plain::{QUESTION_CHARS_MAX, VALUE_CHARS_MAX, plain_or, plain_question, sentence_or};
pub use replan::{Guidance, REPLAN_BYTES_MAX, Replan, ReplanFailure, Tree, TriedApproach, replan};
pub(crate) use say::{capital, noun};
pub use say::{count, said, span, tasks, title};
pub use waited::{Waited, waited};

#[cfg(test)]
mod tests;

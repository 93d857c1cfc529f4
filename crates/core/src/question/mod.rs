//! Questions: their kinds, texts, options and evidence.
//!
//! Unstuck's own words are made by rules from typed facts and pass the linter of [`crate::text`]; foreign
//! words are quoted in them. The facts behind a question are its [`Evidence`].

mod advice;
mod asked;
mod evidence;
mod kind;
mod options;
mod reason;
mod risk;
mod text;

pub use asked::{DefaultAnswer, OtherWork, QuestionFacts, TriedAttempt};
pub use evidence::{
    ActionEvidence, ApproachFacts, AskedBy, BudgetFacts, DiffFacts, Evidence, EvidenceEntry,
    OUTPUT_BYTES_MAX, OUTPUT_LINES_MAX, check_lines, last_lines,
};
pub use kind::{Decision, QuestionKind, UnknownDecision};
pub use options::{
    OptionsContext, QuestionOption, RAISE_TIMES, RaiseFacts, RaisedLimit, build_options,
    leave_unchanged_guidance,
};
pub use reason::Reason;
pub use risk::Risk;
pub use text::{OPERATOR_TEXT_BYTES_MAX, QuestionText, build_text, operator_text};

#[cfg(test)]
mod tests;

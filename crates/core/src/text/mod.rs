//! Plain English: the linter, and the phrases that texts are made of.
//!
//! Unstuck's own words to people pass [`lint_text()`]: plain words, no technical detail. Foreign words are quoted
//! verbatim ([`quote_words`]). Questions are built from these words in [`question`](crate::question), everything
//! else in [`tell`](crate::tell). No decision is made here.

pub(crate) mod bounded;
pub mod brief;
mod grade;
mod known;
mod lint;
mod obstacle;
mod output;
mod say;
mod service;
mod verbatim;
mod wait;
mod words;

pub use bounded::strip_escapes;
pub use grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
pub use lint::{FINDINGS_MAX, LINT_BYTES_MAX, LintFinding, LintRule, lint_text};
pub use obstacle::{
    NO_CONNECTION, Obstacle, SECRETS, SILENT, SpecificCause, UNHEARD, describe_failure,
    describe_obstacle, failure_phrase, failure_phrase_with_facts, silent_span, slow_step,
    unknown_model,
};
pub(crate) use output::{failure_reason, is_rejected_push, missing_program};
pub use output::{push_refusal, telling_line};
pub(crate) use say::work_noun;
pub use say::{
    capitalize_first, count_noun, count_tasks, join_parts, number_word, quote_title, span_words,
};
pub(crate) use service::is_numeric;
pub use service::{agent_service, provider_display_name, service_at, service_of_variable};
pub use verbatim::{
    QUESTION_CHARS_MAX, VALUE_CHARS_MAX, name_in_sentence, our_words, quote_words, verbatim_line,
};
pub use wait::{REQUESTED_WAIT_MAX, parse_requested_wait, requested_wait};

//! Questions: that every text is plain, says what it must, and stays plain with hostile values.

mod breadth;
mod hostile;
mod meaning;

use super::QuestionText;
use crate::text::lint;

#[track_caller]
fn plain(text: &str) {
    let findings = lint(text);
    assert!(findings.is_empty(), "{text:?}\n{findings:?}");
}

/// Every public string of a question.
fn words(text: QuestionText) -> impl Iterator<Item = String> {
    let options = text.options.into_iter().flat_map(|option| [option.label, option.description]);
    [text.problem, text.recommended_text].into_iter().chain(options).chain(text.attempts)
}

//! Questions: Unstuck's own words are plain, the required facts are present, and foreign words are verbatim.

mod breadth;
mod hostile;
mod meaning;

use super::QuestionText;
use crate::text::{lint_text, our_words};

#[track_caller]
fn plain(text: &str) {
    let findings = lint_text(&our_words(text));
    assert!(findings.is_empty(), "{text:?}\n{findings:?}");
}

/// Returns all of Unstuck's own words in a question.
fn words(text: QuestionText) -> impl Iterator<Item = String> {
    let options = text.options.into_iter().flat_map(|option| {
        // An option with guidance is worded by the agent.
        let ours = option.guidance.is_none().then_some(option.label);
        ours.into_iter().chain([option.description])
    });
    [text.problem, text.recommended_text].into_iter().chain(options).chain(text.attempts)
}

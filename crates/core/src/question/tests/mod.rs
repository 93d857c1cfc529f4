//! Questions: that what we say in them is plain, that they say what they must, and that the words
//! of others stand in them as they are.

mod breadth;
mod hostile;
mod meaning;

use super::QuestionText;
use crate::text::{lint, our_words};

#[track_caller]
fn plain(text: &str) {
    let findings = lint(&our_words(text));
    assert!(findings.is_empty(), "{text:?}\n{findings:?}");
}

/// Everything that we ourselves say in a question.
fn words(text: QuestionText) -> impl Iterator<Item = String> {
    let options = text.options.into_iter().flat_map(|option| {
        // A choice with words of its own is the agent's.
        let ours = option.guidance.is_none().then_some(option.label);
        ours.into_iter().chain([option.description])
    });
    [text.problem, text.recommended_text].into_iter().chain(options).chain(text.attempts)
}

//! Answers to questions.

use unstuck_core::engine::QuestionId;

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InboxError {
    /// A word that no question offers.
    #[error("question {question} does not offer {word:?}")]
    NoSuchChoice {
        /// Which question.
        question: QuestionId,
        /// The word.
        word: String,
        /// What it offers: each choice as it is typed, with its words.
        choices: Vec<String>,
    },
    /// A hint was chosen and none was given. There is one answer, so it is not taken like this.
    #[error("this answer needs your words")]
    NoGuidance {
        /// The question.
        question: QuestionId,
    },
    /// There is no change to show.
    #[error("question {question} is not about a change that could be shown")]
    NoChange {
        /// The question.
        question: QuestionId,
    },
    /// There is nothing that could be looked up again.
    #[error("question {question} has nothing that could be looked up again")]
    NothingToCheck {
        /// The question.
        question: QuestionId,
    },
}

impl InboxError {
    /// Next steps, most useful first.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSuchChoice { question, choices, .. } => {
                let more = format!("`unstuck inbox show {}` says what each leads to", question.0);
                choices.iter().cloned().chain([more]).collect()
            }
            Self::NoGuidance { question } => {
                let answer = format!("unstuck inbox answer {} provide_guidance", question.0);
                vec![format!("`{answer} --guidance 'what you would try'`")]
            }
            Self::NothingToCheck { question } | Self::NoChange { question } => {
                vec![format!("`unstuck inbox show {}` says what it asks", question.0)]
            }
        }
    }
}

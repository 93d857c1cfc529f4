//! Errors of answers to questions.

use unstuck_core::engine::QuestionId;

/// The reason why an answer was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InboxError {
    /// A word that the question does not offer.
    #[error("question {question} does not offer {word:?}")]
    NoSuchChoice {
        question: QuestionId,
        word: String,
        /// The choices as they are typed, each with its description.
        choices: Vec<String>,
    },
    /// Guidance was chosen and none was given. A question is answered only once, so the answer is not
    /// accepted without it.
    #[error("this answer needs your words")]
    NoGuidance {
        /// The question that was answered.
        question: QuestionId,
    },
    /// The question is not about a change.
    #[error("question {question} is not about a change that could be shown")]
    NoChange {
        /// The question whose change was requested.
        question: QuestionId,
    },
    /// The question has no lookup that could be repeated.
    #[error("question {question} has nothing that could be looked up again")]
    NothingToCheck {
        /// The question that was to be checked.
        question: QuestionId,
    },
}

impl InboxError {
    /// Returns the next steps, most useful first.
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

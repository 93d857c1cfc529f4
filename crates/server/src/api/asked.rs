//! A question with the answer that waits to be taken up, as every surface shows it.

use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::QuestionId;
use unstuck_store::tables::{QuestionRow, QuestionStatus};
use unstuck_store::{Answer, Store, StoreError};

/// A question, and the answer that nobody has taken up yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Asked {
    /// The question.
    #[serde(flatten)]
    pub row: QuestionRow,
    /// What was answered, while nobody has taken it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

impl Asked {
    /// A question with its answer, where it is among these.
    pub fn of(row: QuestionRow, answers: &[Answer]) -> Self {
        let answer = answers.iter().find(|answer| answer.question == row.id).cloned();
        Self { row, answer }
    }

    /// Whether it still waits for somebody.
    pub const fn is_open(&self) -> bool {
        matches!(self.row.status, QuestionStatus::Pending) && self.answer.is_none()
    }

    /// What everybody may read: without the error in its own words.
    #[must_use]
    pub fn public(mut self) -> Self {
        self.row.raw_error.clear();
        self.row.operator_text.clear();
        self
    }
}

/// One question of a project.
pub(crate) async fn read(
    store: &dyn Store,
    project: &str,
    id: QuestionId,
) -> Result<Option<Asked>, StoreError> {
    let Some(row) = store.question(project, id).await? else { return Ok(None) };
    let answer = match row.status {
        QuestionStatus::Pending => {
            store.answers(project).await?.into_iter().find(|answer| answer.question == id)
        }
        QuestionStatus::Resolved | QuestionStatus::Skipped | QuestionStatus::Withdrawn => None,
    };
    Ok(Some(Asked { row, answer }))
}

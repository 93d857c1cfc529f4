//! A question with the answer that is not processed yet, as every surface shows it.

use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::QuestionId;
use unstuck_store::tables::{QuestionRow, QuestionStatus};
use unstuck_store::{Answer, Store, StoreError};

/// A question, and its answer if that is not processed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Asked {
    /// The question.
    #[serde(flatten)]
    pub row: QuestionRow,
    /// The answer, until the holder has processed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

impl Asked {
    /// Joins a question with its answer among these.
    pub fn from_row(row: QuestionRow, answers: &[Answer]) -> Self {
        let answer = answers.iter().find(|answer| answer.question == row.id).cloned();
        Self { row, answer }
    }

    /// Returns whether the question still waits for an answer.
    pub const fn is_open(&self) -> bool {
        matches!(self.row.status, QuestionStatus::Pending) && self.answer.is_none()
    }

    /// Removes the raw error text, which only viewers may read.
    #[must_use]
    pub fn into_public(mut self) -> Self {
        self.row.raw_error.clear();
        self.row.operator_text.clear();
        self
    }
}

/// Reads a question of a project.
pub(crate) async fn load_question(
    store: &dyn Store,
    project: &str,
    id: QuestionId,
) -> Result<Option<Asked>, StoreError> {
    let Some(row) = store.load_question(project, id).await? else { return Ok(None) };
    let answer = match row.status {
        QuestionStatus::Pending => store
            .load_pending_answers(project)
            .await?
            .into_iter()
            .find(|answer| answer.question == id),
        QuestionStatus::Resolved | QuestionStatus::Skipped | QuestionStatus::Withdrawn => None,
    };
    Ok(Some(Asked { row, answer }))
}

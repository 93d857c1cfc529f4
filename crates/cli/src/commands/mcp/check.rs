//! Checks whether a person has answered.

use unstuck_core::engine::QuestionId;
use unstuck_core::fault::Code;
use unstuck_store::tables::QuestionRow;

use super::desk::{CallTarget, ToolError};
use super::words;
use crate::project::LocalProject;

/// Returns the state of a question that was asked before.
pub(super) async fn check_answer(desk: &mut CallTarget, name: &str) -> Result<String, ToolError> {
    let digits = name.trim().trim_start_matches(['q', 'Q']);
    let question = digits.parse().map(QuestionId).map_err(|_| unknown_question(name))?;
    let row = match desk {
        CallTarget::Sessions(sessions) => load_question(sessions.project(), question).await?,
        CallTarget::Run(run) => {
            let project = LocalProject::find(run.project_root())?;
            let task = run.current_effect().await?.task;
            // A run sees only its own questions.
            load_question(&project, question).await?.filter(|row| row.tasks.contains(&task))
        }
    };
    row.map(|row| words::render_question_state(&row)).ok_or_else(|| unknown_question(name))
}

async fn load_question(
    project: &LocalProject,
    question: QuestionId,
) -> Result<Option<QuestionRow>, ToolError> {
    let store = project.open_store()?;
    store
        .load_question(project.name(), question)
        .await
        .map_err(|error| ToolError::from(crate::error::CliError::from(error)))
}

fn unknown_question(name: &str) -> ToolError {
    ToolError(Code::LogicBadInput, format!("There is no question {name:?} that you asked."))
}

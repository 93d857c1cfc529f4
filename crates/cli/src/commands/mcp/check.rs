//! Checks whether a person has answered.

use unstuck_core::engine::QuestionId;
use unstuck_core::fault::Code;
use unstuck_store::tables::QuestionRow;

use super::desk::{Desk, No};
use super::words;
use crate::project::Project;

/// Returns the state of a question that was asked before.
pub(super) async fn check(desk: &mut Desk, name: &str) -> Result<String, No> {
    let digits = name.trim().trim_start_matches(['q', 'Q']);
    let question = digits.parse().map(QuestionId).map_err(|_| unknown(name))?;
    let row = match desk {
        Desk::Sessions(sessions) => look(sessions.project(), question).await?,
        Desk::Run(run) => {
            let project = Project::find(run.root())?;
            let task = run.effect().await?.task;
            // A run sees only its own questions.
            look(&project, question).await?.filter(|row| row.tasks.contains(&task))
        }
    };
    row.map(|row| words::stands(&row)).ok_or_else(|| unknown(name))
}

async fn look(project: &Project, question: QuestionId) -> Result<Option<QuestionRow>, No> {
    let store = project.store()?;
    store
        .question(project.name(), question)
        .await
        .map_err(|error| No::from(crate::error::Error::from(error)))
}

fn unknown(name: &str) -> No {
    No(Code::LogicBadInput, format!("There is no question {name:?} that you asked."))
}

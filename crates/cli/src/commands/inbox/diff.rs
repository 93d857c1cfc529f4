//! Shows the whole change that a question is about, from the task's worktree.

use std::io::Write;

use unstuck_core::engine::QuestionId;
use unstuck_store::tables::TaskRow;
use unstuck_world::workspace::{self, Workspace, WorkspaceKey};

use super::InboxContext;
use crate::build::project_redactor;
use crate::error::{CliError, InboxError};
use crate::project;

pub(super) async fn run(desk: &InboxContext<'_>, question: QuestionId) -> Result<(), CliError> {
    let row = desk.load_question(question).await?;
    let tasks = project::find_tasks(desk.store.as_ref(), desk.project.name(), &row.tasks).await?;
    let first = row.tasks.first().and_then(|id| tasks.get(id));
    let task = first.ok_or(InboxError::NoChange { question })?;
    let patch = load_patch(desk, task).await?;
    let text = String::from_utf8_lossy(&patch);
    let mut out = desk.terminal.plain();
    out.write_all(project_redactor(&desk.project).redact_text(&text).as_bytes())?;
    out.flush()?;
    if patch.is_empty() {
        return Err(InboxError::NoChange { question }.into());
    }
    Ok(())
}

async fn load_patch(desk: &InboxContext<'_>, task: &TaskRow) -> Result<Vec<u8>, CliError> {
    let repository = workspace::ProjectRepository::open("git", desk.project.root()).await?;
    let place = WorkspaceKey { build: task.build, task: task.id };
    Ok(Workspace::open_read_only(&repository, place).await?.create_patch().await?)
}

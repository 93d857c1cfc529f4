//! Shows the whole change that a question is about, from the task's worktree.

use std::io::Write;

use unstuck_core::engine::QuestionId;
use unstuck_store::tables::TaskRow;
use unstuck_world::workspace::{self, Place, Workspace};

use super::Desk;
use crate::build::redactor;
use crate::error::{Error, InboxError};
use crate::project;

pub(super) async fn run(desk: &Desk<'_>, question: QuestionId) -> Result<(), Error> {
    let row = desk.question(question).await?;
    let tasks = project::tasks_of(desk.store.as_ref(), desk.project.name(), &row.tasks).await?;
    let first = row.tasks.first().and_then(|id| tasks.get(id));
    let task = first.ok_or(InboxError::NoChange { question })?;
    let patch = patch(desk, task).await?;
    let text = String::from_utf8_lossy(&patch);
    let mut out = desk.terminal.plain();
    out.write_all(redactor(&desk.project).text(&text).as_bytes())?;
    out.flush()?;
    if patch.is_empty() {
        return Err(InboxError::NoChange { question }.into());
    }
    Ok(())
}

async fn patch(desk: &Desk<'_>, task: &TaskRow) -> Result<Vec<u8>, Error> {
    let repository = workspace::Project::open("git", desk.project.root()).await?;
    let place = Place { build: task.build, task: task.id };
    Ok(Workspace::look_at(&repository, place).await?.patch().await?)
}

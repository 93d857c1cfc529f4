//! `unstuck inbox`: the questions that wait for a person.

mod answer;
mod check;
mod list;
mod show;

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::QuestionId;
use unstuck_store::tables::QuestionRow;
use unstuck_store::{AnswerError, Store};

use crate::args::{Inbox, InboxCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::Terminal;

/// Carries it out.
pub(crate) fn run(args: &Inbox, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let desk = Desk { project, store, terminal, json: args.json };
    let work = async {
        match &args.command {
            None => list::run(&desk, false).await,
            Some(InboxCommand::List { all }) => list::run(&desk, *all).await,
            Some(InboxCommand::Show { question }) => show::run(&desk, *question).await,
            Some(InboxCommand::Answer { question, decision, guidance }) => {
                answer::run(&desk, *question, decision, guidance.as_deref()).await
            }
            Some(InboxCommand::Check { question }) => check::run(&desk, *question).await,
        }
    };
    project::runtime()?.block_on(work)?;
    Ok(Exit::Done)
}

/// What each of them works with.
struct Desk<'a> {
    project: Project,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    json: bool,
}

impl Desk<'_> {
    async fn question(&self, id: QuestionId) -> Result<QuestionRow, Error> {
        let found = self.store.question(self.project.name(), id).await?;
        Ok(found.ok_or(AnswerError::NoQuestion(id))?)
    }
}

//! `unstuck inbox`: lists, shows and answers the questions for a person.

mod answer;
mod browse;
mod check;
mod diff;
mod list;
mod show;

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::QuestionId;
use unstuck_server::Asked;
use unstuck_store::tables::{QuestionRow, QuestionStatus};
use unstuck_store::{AnswerError, Store};

use crate::args::{Inbox, InboxCommand};
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project};
use crate::render::Terminal;
use crate::render::screen::Screen;
use crate::settings::Audience;

pub(crate) fn run(args: &Inbox, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let store = project.store()?;
    let desk = Desk { project, store, terminal, json: args.json };
    let work = async {
        match &args.command {
            None => return go_through(&desk).await,
            Some(InboxCommand::List { all }) => list::run(&desk, *all).await,
            Some(InboxCommand::Show { question, evidence }) => {
                show::run(&desk, *question, *evidence).await
            }
            Some(InboxCommand::Diff { question }) => diff::run(&desk, *question).await,
            Some(InboxCommand::Answer { question, decision, guidance }) => {
                answer::run(&desk, *question, decision, guidance.as_deref()).await
            }
            Some(InboxCommand::Check { question }) => check::run(&desk, *question).await,
        }?;
        Ok(Exit::Done)
    };
    project::runtime()?.block_on(work)
}

/// Lets the person at the terminal browse the questions of a project.
pub(super) async fn at_the_terminal(
    project: &Project,
    store: &Arc<dyn Store>,
    terminal: &Terminal,
    screen: Screen,
) -> Result<Exit, Error> {
    let project = project.clone();
    let store = Arc::clone(store);
    browse::run(&Desk { project, store, terminal, json: false }, screen).await
}

/// Browses the questions if there is a terminal, and lists them otherwise.
async fn go_through(desk: &Desk<'_>) -> Result<Exit, Error> {
    let waits = desk.questions(Some(QuestionStatus::Pending)).await?.iter().any(Asked::is_open);
    if waits
        && !desk.json
        && let Some(screen) = Screen::enter(desk.terminal)?
    {
        return browse::run(desk, screen).await;
    }
    list::run(desk, false).await?;
    Ok(Exit::Done)
}

/// The context of the subcommands.
struct Desk<'a> {
    project: Project,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    json: bool,
}

impl Desk<'_> {
    /// Returns whether evidence is shown by default.
    fn shows_evidence(&self) -> bool {
        let resolved = self.project.settings();
        resolved.is_ok_and(|resolved| resolved.settings.inbox.audience == Audience::Developer)
    }

    async fn question(&self, id: QuestionId) -> Result<QuestionRow, Error> {
        let found = self.store.question(self.project.name(), id).await?;
        Ok(found.ok_or(AnswerError::NoQuestion(id))?)
    }

    /// Returns a question with its answer.
    async fn asked(&self, id: QuestionId) -> Result<Asked, Error> {
        let row = self.question(id).await?;
        let answers = self.store.answers(self.project.name()).await?;
        Ok(Asked::of(row, &answers))
    }

    /// Returns questions with their answers, oldest first; with a status, only those.
    async fn questions(&self, status: Option<QuestionStatus>) -> Result<Vec<Asked>, Error> {
        let name = self.project.name();
        let (rows, answers) =
            (self.store.questions(name, status).await?, self.store.answers(name).await?);
        Ok(rows.into_iter().map(|row| Asked::of(row, &answers)).collect())
    }
}

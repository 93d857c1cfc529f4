//! `unstuck inbox`: lists, shows and answers the questions for a person.

mod answer;
mod browse;
mod list;
mod show;

use std::sync::Arc;

use clap::Subcommand;
use unstuck_core::engine::QuestionId;
use unstuck_server::Asked;
use unstuck_store::tables::{QuestionRow, QuestionStatus};
use unstuck_store::{AnswerError, Store};

use crate::args::parse_question_id;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::screen::Screen;
use crate::render::{Terminal, words};
use crate::settings::InboxAudienceSetting;

/// Show and answer open questions
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists the open questions, shows one, or answers one. On a terminal it is \
        interactive: choose with the arrow keys or numbers, Enter opens and answers, Esc goes \
        back, q quits. It works whether or not something is running: an answer takes effect at \
        once, or at the next start.",
    after_long_help = INBOX_EXAMPLES
)]
pub(crate) struct InboxArgs {
    /// What to do; without it, goes through the open questions, or lists them in a pipe
    #[command(subcommand)]
    command: Option<InboxCommand>,

    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

/// What can be done with questions.
#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// List the open questions
    List {
        /// Include answered and withdrawn questions
        #[arg(long)]
        all: bool,
    },
    /// Show questions in full
    Show {
        /// The question, such as `3` or `q3`; default: every open question
        #[arg(value_parser = parse_question_id)]
        question: Option<QuestionId>,
        /// Include the evidence where `inbox.audience` hides it
        #[arg(long)]
        evidence: bool,
    },
    /// Show the whole change that a question is about
    Diff {
        /// The question, such as `3` or `q3`
        #[arg(value_parser = parse_question_id)]
        question: QuestionId,
    },
    /// Answer a question
    Answer {
        /// The question, such as `3` or `q3`
        #[arg(value_parser = parse_question_id)]
        question: QuestionId,
        /// One of its choices
        decision: String,
        /// A message for the agent
        #[arg(long, value_name = "TEXT")]
        guidance: Option<String>,
    },
    /// Check again whether an action went through
    Check {
        /// The question, such as `3` or `q3`
        #[arg(value_parser = parse_question_id)]
        question: QuestionId,
    },
}

const INBOX_EXAMPLES: &str = "\
Examples:
  unstuck inbox
  unstuck inbox show 3
  unstuck inbox diff 3
  unstuck inbox answer 3 provide_credentials
  unstuck inbox answer 4 provide_guidance --guidance 'use the test account'";

pub(crate) fn run(args: &InboxArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let store = project.open_store()?;
    let inbox = InboxContext { project, store, terminal: context.terminal, json: args.json };
    let work = async {
        match &args.command {
            None => return browse_or_list(&inbox).await,
            Some(InboxCommand::List { all }) => list::run(&inbox, *all).await,
            Some(InboxCommand::Show { question, evidence }) => {
                show::run(&inbox, *question, *evidence).await
            }
            Some(InboxCommand::Diff { question }) => show::show_change(&inbox, *question).await,
            Some(InboxCommand::Answer { question, decision, guidance }) => {
                answer::answer_question(&inbox, *question, decision, guidance.as_deref()).await
            }
            Some(InboxCommand::Check { question }) => answer::check_again(&inbox, *question).await,
        }?;
        Ok(Exit::Done)
    };
    project::create_runtime()?.block_on(work)
}

/// Lets the person at the terminal browse the questions of a project.
pub(super) async fn browse_questions(
    project: &LocalProject,
    store: &Arc<dyn Store>,
    terminal: &Terminal,
    screen: Screen,
) -> Result<Exit, CliError> {
    let project = project.clone();
    let store = Arc::clone(store);
    browse::run(&InboxContext { project, store, terminal, json: false }, screen).await
}

/// Browses the questions if there is a terminal, and lists them otherwise.
async fn browse_or_list(inbox: &InboxContext<'_>) -> Result<Exit, CliError> {
    let waits =
        inbox.load_questions(Some(QuestionStatus::Pending)).await?.iter().any(Asked::is_open);
    if waits
        && !inbox.json
        && let Some(screen) = Screen::enter(inbox.terminal)?
    {
        return browse::run(inbox, screen).await;
    }
    list::run(inbox, false).await?;
    Ok(Exit::Done)
}

struct InboxContext<'a> {
    project: LocalProject,
    store: Arc<dyn Store>,
    terminal: &'a Terminal,
    json: bool,
}

impl InboxContext<'_> {
    fn shows_evidence(&self) -> bool {
        let resolved = self.project.settings();
        resolved.is_ok_and(|resolved| {
            resolved.settings.inbox.audience == InboxAudienceSetting::Developer
        })
    }

    /// Returns the names of the tasks that wait for the answer to a question.
    async fn load_task_names(&self, question: &QuestionRow) -> Result<Vec<String>, CliError> {
        let name = self.project.name();
        let tasks = project::find_tasks(self.store.as_ref(), name, &question.tasks).await?;
        Ok(tasks.values().map(|task| words::task_name(task.id, &task.spec)).collect())
    }

    async fn load_question(&self, id: QuestionId) -> Result<QuestionRow, CliError> {
        let found = self.store.load_question(self.project.name(), id).await?;
        Ok(found.ok_or(AnswerError::NoQuestion(id))?)
    }

    async fn load_asked(&self, id: QuestionId) -> Result<Asked, CliError> {
        let row = self.load_question(id).await?;
        let answers = self.store.load_pending_answers(self.project.name()).await?;
        Ok(Asked::from_row(row, &answers))
    }

    /// Returns questions with their answers, oldest first; with a status, only those.
    async fn load_questions(&self, status: Option<QuestionStatus>) -> Result<Vec<Asked>, CliError> {
        let name = self.project.name();
        let (rows, answers) = (
            self.store.load_questions(name, status).await?,
            self.store.load_pending_answers(name).await?,
        );
        Ok(rows.into_iter().map(|row| Asked::from_row(row, &answers)).collect())
    }
}

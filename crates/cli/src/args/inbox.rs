//! `unstuck inbox` on the command line.

use clap::Subcommand;
use unstuck_core::engine::QuestionId;

use super::value::parse_question_id;

/// See and answer the questions that wait for you
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lists the questions that wait for a person, shows one, or answers one. At a terminal it \
        goes through them with you: the arrow keys or numbers choose, Enter opens and answers, Esc \
        goes back, q leaves. It works while something runs and while nothing does: an answer given \
        now is taken up at once, or at the next start.",
    after_long_help = INBOX_EXAMPLES
)]
pub(crate) struct InboxArgs {
    /// What to do; without it, goes through the open questions, or lists them in a pipe
    #[command(subcommand)]
    pub(crate) command: Option<InboxCommand>,

    /// Write JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What can be done with questions.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List the open questions
    List {
        /// Those that are answered or withdrawn too
        #[arg(long)]
        all: bool,
    },
    /// Show questions in full
    Show {
        /// The number of one, such as `3` or `q3`; without it, every open question
        #[arg(value_parser = parse_question_id)]
        question: Option<QuestionId>,
        /// What it rests on too, where `inbox.audience` folds it
        #[arg(long)]
        evidence: bool,
    },
    /// Show the whole change that a question is about
    Diff {
        /// Its number, such as `3` or `q3`
        #[arg(value_parser = parse_question_id)]
        question: QuestionId,
    },
    /// Answer a question
    Answer {
        /// Its number, such as `3` or `q3`
        #[arg(value_parser = parse_question_id)]
        question: QuestionId,
        /// One of its choices
        decision: String,
        /// What you want to tell the agent
        #[arg(long, value_name = "TEXT")]
        guidance: Option<String>,
    },
    /// Have it looked up again whether an action happened
    Check {
        /// Its number, such as `3` or `q3`
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

//! Answers a question, or repeats the lookup whether an action happened, so that no person has to tell.

use std::io::Write as _;
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::engine::{Command, QuestionId, RecordedEvent};
use unstuck_core::question::{Decision, QuestionOption};
use unstuck_store::tables::{BuildRow, QuestionRow, QuestionStatus, TaskRow};
use unstuck_store::{Answer, AnswerError};

use super::InboxContext;
use crate::commands::status::Performers;
use crate::error::{CliError, InboxError};
use crate::project::{self, project_redactor};
use crate::render::stand::TaskPerformer;
use crate::render::words;

pub(super) async fn answer_question(
    inbox: &InboxContext<'_>,
    question: QuestionId,
    word: &str,
    guidance: Option<&str>,
) -> Result<(), CliError> {
    let row = inbox.load_question(question).await?;
    let (decision, prepared) = parse_choice(&row, word)?;
    let guidance = guidance.map(str::trim).filter(|text| !text.is_empty()).or(prepared);
    if decision == Decision::ProvideGuidance && guidance.is_none() && is_answerable(&row, decision)
    {
        return Err(InboxError::NoGuidance { question }.into());
    }
    let given = record_answer(inbox, question, decision, guidance).await;
    let given = given.map_err(|error| match error {
        CliError::Answer(AnswerError::NotAnOption { .. }) => no_such_choice(&row, word),
        error => error,
    })?;
    let said = given.render_next_step();
    let left_out = if given.redacted { SECRET_LEFT_OUT } else { "" };
    inbox.terminal.write_result(inbox.json, &given, |out| writeln!(out, "{said}{left_out}"))
}

/// The remark about guidance without its secrets.
const SECRET_LEFT_OUT: &str = "\nWhat looks like a secret in your words was left out, and no agent reads \
    it. Put it into a variable of the environment, and name that.";

/// Records an answer, and determines the process that acts on it.
pub(super) async fn record_answer(
    inbox: &InboxContext<'_>,
    question: QuestionId,
    decision: Decision,
    guidance: Option<&str>,
) -> Result<RecordedAnswer, CliError> {
    project::refuse_inside_run(&inbox.project, "answer")?;
    let by = Arc::from(project::current_user());
    let at = project::now();
    // Guidance is stored and passed to an agent; a key belongs in the environment.
    let redactor = project_redactor(&inbox.project);
    let clean = guidance.map(|words| redactor.redact_text(words));
    let redacted = clean.as_deref() != guidance;
    let guidance = clean.map(|words| Arc::from(&*words));
    let answer = Answer { question, decision, guidance, by, at };
    let asked = inbox.load_question(question).await?;
    inbox.store.record_answer(inbox.project.name(), answer.clone()).await?;
    // The answer is durable from here on: it is taken up sooner or later, whatever happens now.
    let taken_up = project::take_answers(&inbox.project).await?;
    let performer = match find_waiting_task(inbox, &asked).await? {
        Some((build, row)) => {
            Performers::inspect(&inbox.project, taken_up).performer_of(&build, &row)
        }
        None if taken_up => TaskPerformer::AtWork,
        None => TaskPerformer::NextStart,
    };
    Ok(RecordedAnswer { answer, taken_up, performer, redacted })
}

/// Returns the first task that waited for the answer, with its build, in their current state.
async fn find_waiting_task(
    inbox: &InboxContext<'_>,
    asked: &QuestionRow,
) -> Result<Option<(BuildRow, TaskRow)>, CliError> {
    let store = &inbox.store;
    let project = inbox.project.name();
    let (Some(build), Some(task)) = (asked.build, asked.tasks.first()) else { return Ok(None) };
    let build = store.load_builds(project).await?.into_iter().find(|row| row.id == build);
    let Some(build) = build else { return Ok(None) };
    let row =
        store.load_build_tasks(project, build.id).await?.into_iter().find(|row| row.id == *task);
    Ok(row.map(|row| (build, row)))
}

/// An answer, and whether a process already acts on it.
#[derive(Serialize)]
pub(super) struct RecordedAnswer {
    #[serde(flatten)]
    answer: Answer,
    taken_up: bool,
    #[serde(skip)]
    performer: TaskPerformer,
    /// `true` if a secret was removed from the guidance.
    #[serde(skip)]
    redacted: bool,
}

impl RecordedAnswer {
    pub(super) const fn render_next_step(&self) -> &'static str {
        match self.performer {
            TaskPerformer::AtWork => "Answered. It continues.",
            TaskPerformer::Paused => {
                "Answered. The build is paused; `unstuck resume` continues it."
            }
            TaskPerformer::NextExec => "Answered. It continues when its command is run again.",
            TaskPerformer::NextStart if self.taken_up => "Answered. `unstuck resume` continues.",
            TaskPerformer::NextStart => "Answered. It takes effect at the next start.",
        }
    }
}

/// Returns whether only the person's words are missing.
fn is_answerable(row: &QuestionRow, decision: Decision) -> bool {
    row.status == QuestionStatus::Pending && row.offers_decision(decision)
}

/// Parses a word as a choice, with the guidance that belongs to it: the word is its key or its label.
/// Letter case does not matter, and `-` or a blank stands for `_`.
fn parse_choice<'a>(
    row: &'a QuestionRow,
    word: &str,
) -> Result<(Decision, Option<&'a str>), CliError> {
    let same = |text: &str| text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let wanted = same(word);
    if let Ok(decision) = wanted.parse() {
        return Ok((decision, None));
    }
    if wanted == words::FIXED && row.offers_decision(Decision::ProvideCredentials) {
        return Ok((Decision::ProvideCredentials, None));
    }
    let labelled = row.text.options.iter().find(|option| same(&option.label) == wanted);
    match labelled {
        Some(option) => Ok((option.value, option.guidance.as_deref())),
        None => Err(no_such_choice(row, word)),
    }
}

/// Returns the error for a word that the question does not offer, with the choices that it offers.
fn no_such_choice(row: &QuestionRow, word: &str) -> CliError {
    let line = |option: &QuestionOption| {
        let command = words::answer_command(row.id.0, option, row.code);
        format!("`{command}`: {}", words::plain_line(&option.label))
    };
    let choices = row.text.options.iter().map(line).collect();
    InboxError::NoSuchChoice { question: row.id, word: word.to_owned(), choices }.into()
}

pub(super) async fn check_again(
    inbox: &InboxContext<'_>,
    question: QuestionId,
) -> Result<(), CliError> {
    let (events, said) = request_lookup(inbox, question).await?;
    inbox.terminal.write_result(inbox.json, &events, |out| writeln!(out, "{said}"))
}

/// Requests the lookup; returns the events, and the sentence about when it happens.
pub(super) async fn request_lookup(
    inbox: &InboxContext<'_>,
    question: QuestionId,
) -> Result<(Vec<RecordedEvent>, &'static str), CliError> {
    let row = inbox.load_question(question).await?;
    match row.status {
        QuestionStatus::Pending => {}
        QuestionStatus::Resolved | QuestionStatus::Skipped => {
            return Err(AnswerError::Answered(question).into());
        }
        QuestionStatus::Withdrawn => return Err(AnswerError::Withdrawn(question).into()),
    }
    if !row.can_check() {
        return Err(InboxError::NothingToCheck { question }.into());
    }
    let command = Command::CheckAgain { question };
    let sent = project::submit_command(&inbox.project, &inbox.store, "inbox", command).await?;
    let said = if sent.held {
        "It is being looked up again. `unstuck log` shows what came of it."
    } else {
        "It is looked up again at the next start."
    };
    Ok((sent.events, said))
}

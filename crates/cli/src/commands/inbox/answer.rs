//! A person's answer.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::{Decision, QuestionOption};
use unstuck_store::Answer;
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use super::Desk;
use crate::build::redactor;
use crate::error::{Error, InboxError};
use crate::project;
use crate::render::{self, words};

pub(super) async fn run(
    desk: &Desk<'_>,
    question: QuestionId,
    word: &str,
    guidance: Option<&str>,
) -> Result<(), Error> {
    let row = desk.question(question).await?;
    let (decision, prepared) = choice(&row, word)?;
    let guidance = guidance.map(str::trim).filter(|text| !text.is_empty()).or(prepared);
    if decision == Decision::ProvideGuidance && guidance.is_none() && is_open(&row, decision) {
        return Err(InboxError::NoGuidance { question }.into());
    }
    let (answer, taken_up) = give(desk, question, decision, guidance).await?;
    let mut out = desk.terminal.styled();
    if desk.json {
        render::json(&mut out, &Given { answer, taken_up })?;
    } else {
        writeln!(out, "{}", follows(taken_up))?;
    }
    out.flush()?;
    Ok(())
}

/// Takes an answer down, and tells whether somebody acts on it already.
pub(super) async fn give(
    desk: &Desk<'_>,
    question: QuestionId,
    decision: Decision,
    guidance: Option<&str>,
) -> Result<(Answer, bool), Error> {
    project::refuse_inside_run(&desk.project, "answer")?;
    let (by, at) = (Arc::from(project::whoever()), project::now());
    // It is kept, and told to an agent: a key belongs into the environment.
    let redactor = redactor(&desk.project);
    let guidance = guidance.map(|words| Arc::from(&*redactor.text(words)));
    let answer = Answer { question, decision, guidance, by, at };
    desk.store.answer(desk.project.name(), answer.clone()).await?;
    // From here on the answer is given: whatever happens now, it is taken up sometime.
    let taken_up = project::take_answers(&desk.project).await?;
    Ok((answer, taken_up))
}

/// What follows from an answer.
pub(super) const fn follows(taken_up: bool) -> &'static str {
    if taken_up { "Answered. It goes on." } else { "Answered. It is taken up at the next start." }
}

/// An answer, and whether somebody acts on it already.
#[derive(Serialize)]
struct Given {
    #[serde(flatten)]
    answer: Answer,
    taken_up: bool,
}

/// Whether nothing but the person's words is missing.
fn is_open(row: &QuestionRow, decision: Decision) -> bool {
    row.status == QuestionStatus::Pending && row.offers(decision)
}

/// The choice that a word means, with the guidance that goes with it: its key or its label. Letter
/// case and `-` or a blank for `_` do not matter.
fn choice<'a>(row: &'a QuestionRow, word: &str) -> Result<(Decision, Option<&'a str>), Error> {
    let same = |text: &str| text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let wanted = same(word);
    if let Ok(decision) = wanted.parse() {
        return Ok((decision, None));
    }
    if wanted == words::FIXED && row.offers(Decision::ProvideCredentials) {
        return Ok((Decision::ProvideCredentials, None));
    }
    let labelled = row.text.options.iter().find(|option| same(&option.label) == wanted);
    match labelled {
        Some(option) => Ok((option.value, option.guidance.as_deref())),
        None => {
            let line = |option: &QuestionOption| {
                let command = words::answer_command(row.id.0, option, row.code);
                format!("`{command}`: {}", words::plain_line(&option.label))
            };
            let choices = row.text.options.iter().map(line).collect();
            let (question, word) = (row.id, word.to_owned());
            Err(InboxError::NoSuchChoice { question, word, choices }.into())
        }
    }
}

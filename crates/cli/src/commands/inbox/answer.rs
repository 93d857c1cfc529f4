//! A person's answer.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;
use unstuck_store::Answer;
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use super::Desk;
use crate::build::redactor;
use crate::error::{Error, InboxError};
use crate::project;
use crate::render;

pub(super) async fn run(
    desk: &Desk<'_>,
    question: QuestionId,
    word: &str,
    guidance: Option<&str>,
) -> Result<(), Error> {
    let row = desk.question(question).await?;
    let decision = decision(&row, word)?;
    let guidance = guidance.map(str::trim).filter(|text| !text.is_empty());
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

/// The choice a word means; letter case and `-` for `_` do not matter.
fn decision(row: &QuestionRow, word: &str) -> Result<Decision, Error> {
    let wanted = word.trim().to_ascii_lowercase().replace('-', "_");
    wanted.parse().map_err(|_| {
        Error::from(InboxError::NoSuchChoice {
            question: row.id,
            word: word.to_owned(),
            choices: row.text.options.iter().map(|option| option.value).collect(),
        })
    })
}

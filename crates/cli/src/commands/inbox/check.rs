//! Repeats the lookup whether an action happened, so that no person has to tell.

use std::io::Write;

use unstuck_core::engine::{Command, QuestionId, Recorded};
use unstuck_store::AnswerError;
use unstuck_store::tables::QuestionStatus;

use super::Desk;
use crate::error::{Error, InboxError};
use crate::project;
use crate::render;

pub(super) async fn run(desk: &Desk<'_>, question: QuestionId) -> Result<(), Error> {
    let (events, said) = look_up(desk, question).await?;
    let mut out = desk.terminal.styled();
    if desk.json {
        render::json(&mut out, &events)?;
    } else {
        writeln!(out, "{said}")?;
    }
    out.flush()?;
    Ok(())
}

/// Requests the lookup; returns the events, and the sentence about when it happens.
pub(super) async fn look_up(
    desk: &Desk<'_>,
    question: QuestionId,
) -> Result<(Vec<Recorded>, &'static str), Error> {
    let row = desk.question(question).await?;
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
    let held = project::current_holder(&desk.project).await.is_some();
    let command = Command::CheckAgain { question };
    let events = project::send(&desk.project, &desk.store, "inbox", command).await?;
    let said = if held {
        "It is being looked up again. `unstuck log` shows what came of it."
    } else {
        "It is looked up again at the next start."
    };
    Ok((events, said))
}

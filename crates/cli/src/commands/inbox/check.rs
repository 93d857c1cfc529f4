//! Repeats the lookup whether an action happened, so that no person has to tell.

use std::io::Write;

use unstuck_core::engine::{Command, QuestionId, RecordedEvent};
use unstuck_store::AnswerError;
use unstuck_store::tables::QuestionStatus;

use super::InboxContext;
use crate::error::{CliError, InboxError};
use crate::project;
use crate::render;

pub(super) async fn run(desk: &InboxContext<'_>, question: QuestionId) -> Result<(), CliError> {
    let (events, said) = request_lookup(desk, question).await?;
    let mut out = desk.terminal.styled();
    if desk.json {
        render::write_json(&mut out, &events)?;
    } else {
        writeln!(out, "{said}")?;
    }
    out.flush()?;
    Ok(())
}

/// Requests the lookup; returns the events, and the sentence about when it happens.
pub(super) async fn request_lookup(
    desk: &InboxContext<'_>,
    question: QuestionId,
) -> Result<(Vec<RecordedEvent>, &'static str), CliError> {
    let row = desk.load_question(question).await?;
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
    let events = project::submit_command(&desk.project, &desk.store, "inbox", command).await?;
    let said = if held {
        "It is being looked up again. `unstuck log` shows what came of it."
    } else {
        "It is looked up again at the next start."
    };
    Ok((events, said))
}

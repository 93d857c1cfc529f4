//! Browses the open questions at a terminal, one after the other.
//!
//! [`board`] holds the state and handles keys, [`view`] lays out the lines; both are pure. This module
//! connects them to the terminal, the store and the holder.

mod board;
mod line;
#[cfg(test)]
mod tests;
mod view;

use unstuck_core::engine::QuestionId;
use unstuck_core::question::{Decision, EvidenceEntry};
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use self::board::{Act, Board, Card, Choice};
use super::{Asked, Desk, answer, check, list};
use crate::error::Error;
use crate::exit::Exit;
use crate::project;
use crate::render::screen::{Input, Screen};
use crate::render::{when, words};

/// Shows the questions and records answers until the person leaves or no question is open.
pub(super) async fn run(desk: &Desk<'_>, mut screen: Screen) -> Result<Exit, Error> {
    let (cards, held) = waiting(desk).await?;
    let mut board = Board::new(cards, held);
    loop {
        let picture = view::picture(&board, screen.size());
        board.pages = picture.pages;
        screen.draw(picture.lines, picture.cursor)?;
        let act = match screen.next().await? {
            Input::Key(key) => board.press(&key),
            Input::Resized => Act::Stay,
            Input::Interrupted => return end(screen, Exit::Interrupted),
            Input::Terminated => return end(screen, Exit::Terminated),
        };
        match act {
            Act::Stay => continue,
            Act::Leave => return end(screen, Exit::Done),
            Act::Reload => {}
            Act::Answer { question, decision, guidance } => {
                let said = answered(desk, question, decision, guidance.as_deref()).await?;
                screen.say(&said)?;
            }
            Act::Check { question } => {
                let said = told(check::look_up(desk, question).await.map(|(_, said)| said))?;
                screen.say(&format!("Question {question}: {said}"))?;
            }
        }
        let (cards, held) = waiting(desk).await?;
        board.reload(cards, held);
        if board.cards.is_empty() {
            screen.say("Nothing else waits for you.")?;
            return end(screen, Exit::Done);
        }
    }
}

fn end(mut screen: Screen, exit: Exit) -> Result<Exit, Error> {
    screen.clear()?;
    Ok(exit)
}

/// Returns the open questions, and whether there is a holder.
async fn waiting(desk: &Desk<'_>) -> Result<(Vec<Card>, bool), Error> {
    let held = project::current_holder(&desk.project).await.is_some();
    let mut cards = Vec::new();
    let unfolded = desk.shows_evidence();
    for asked in desk.questions(Some(QuestionStatus::Pending)).await? {
        if asked.is_open() {
            let name = desk.project.name();
            let tasks = project::tasks_of(desk.store.as_ref(), name, &asked.row.tasks).await?;
            let names = tasks.values().map(|task| words::name(task.id, &task.spec));
            let names: Vec<String> = names.collect();
            cards.push(card(&asked, &names, unfolded));
        }
    }
    Ok((cards, held))
}

fn card(asked: &Asked, names: &[String], unfolded: bool) -> Card {
    let (row, text) = (&asked.row, &asked.row.text);
    let line = |text: &String| words::plain_line(text);
    let mut choices: Vec<Choice> = text
        .options
        .iter()
        .enumerate()
        .map(|(at, option)| Choice {
            decision: option.value,
            label: line(&option.label),
            leads_to: line(&option.description),
            guidance: option.guidance.clone(),
            recommended: text.recommends(at),
        })
        .collect();
    // The other choices keep their order.
    choices.sort_by_key(|choice| !choice.recommended);
    let since = list::stands(asked, project::now());
    let waits = (!names.is_empty()).then(|| super::show::waiting(row.tasks.len(), names));
    let facts: Vec<String> = [Some(since), waits].into_iter().flatten().collect();
    Card {
        id: row.id,
        kind: words::kind(row.kind),
        facts: facts.join(" · "),
        problem: line(&text.problem),
        attempts: text.attempts.iter().map(line).collect(),
        evidence: if unfolded { evidence(row) } else { Vec::new() },
        choices,
        advice: line(&text.recommended_text),
        can_check: row.can_check(),
    }
}

/// Formats the evidence of a question, each entry below its label.
fn evidence(row: &QuestionRow) -> Vec<String> {
    let lines = |entry: EvidenceEntry| {
        let rest = entry.lines.into_iter().map(|line| format!("  {}", words::shown_line(&line)));
        let at = entry.at.map(|at| format!("  {}", when::minute(at)));
        std::iter::once(entry.label.to_owned()).chain(at).chain(rest).collect::<Vec<_>>()
    };
    row.evidence.entries().into_iter().flat_map(lines).collect()
}

/// Records an answer and returns the sentence about the next step.
async fn answered(
    desk: &Desk<'_>,
    question: QuestionId,
    decision: Decision,
    guidance: Option<&str>,
) -> Result<String, Error> {
    let given = answer::give(desk, question, decision, guidance).await;
    let follows = told(given.map(|given| given.follows()))?;
    Ok(format!("Question {question}: {follows}"))
}

/// Returns the sentence to show, also for an answer that came too late; any other error is returned.
fn told(said: Result<&'static str, Error>) -> Result<String, Error> {
    match said {
        Ok(said) => Ok(said.to_owned()),
        Err(Error::Answer(error)) if !matches!(error, unstuck_store::AnswerError::Store(_)) => {
            Ok(format!("{error}."))
        }
        Err(error) => Err(error),
    }
}

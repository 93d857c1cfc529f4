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

use self::board::{BrowseAction, BrowseBoard, BrowseCard, CardChoice};
use super::{Asked, InboxContext, answer, check, list};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::screen::{Screen, ScreenInput};
use crate::render::{when, words};

/// Shows the questions and records answers until the person leaves or no question is open.
pub(super) async fn run(desk: &InboxContext<'_>, mut screen: Screen) -> Result<Exit, CliError> {
    let (cards, held) = load_cards(desk).await?;
    let mut board = BrowseBoard::new(cards, held);
    loop {
        let picture = view::lay_out_board(&board, screen.size());
        board.pages = picture.pages;
        screen.draw(picture.lines, picture.cursor)?;
        let act = match screen.next_input().await? {
            ScreenInput::Key(key) => board.handle_key(&key),
            ScreenInput::Resized => BrowseAction::Stay,
            ScreenInput::Interrupted => return leave_screen(screen, Exit::Interrupted),
            ScreenInput::Terminated => return leave_screen(screen, Exit::Terminated),
        };
        match act {
            BrowseAction::Stay => continue,
            BrowseAction::Leave => return leave_screen(screen, Exit::Done),
            BrowseAction::Reload => {}
            BrowseAction::Answer { question, decision, guidance } => {
                let said = answer_question(desk, question, decision, guidance.as_deref()).await?;
                screen.write_above(&said)?;
            }
            BrowseAction::Check { question } => {
                let said = render_outcome(
                    check::request_lookup(desk, question).await.map(|(_, said)| said),
                )?;
                screen.write_above(&format!("Question {question}: {said}"))?;
            }
        }
        let (cards, held) = load_cards(desk).await?;
        board.reload(cards, held);
        if board.cards.is_empty() {
            screen.write_above("Nothing else waits for you.")?;
            return leave_screen(screen, Exit::Done);
        }
    }
}

fn leave_screen(mut screen: Screen, exit: Exit) -> Result<Exit, CliError> {
    screen.clear()?;
    Ok(exit)
}

/// Returns the open questions, and whether there is a holder.
async fn load_cards(desk: &InboxContext<'_>) -> Result<(Vec<BrowseCard>, bool), CliError> {
    let held = project::current_holder(&desk.project).await.is_some();
    let mut cards = Vec::new();
    let unfolded = desk.shows_evidence();
    for asked in desk.load_questions(Some(QuestionStatus::Pending)).await? {
        if asked.is_open() {
            let name = desk.project.name();
            let tasks = project::find_tasks(desk.store.as_ref(), name, &asked.row.tasks).await?;
            let names = tasks.values().map(|task| words::task_name(task.id, &task.spec));
            let names: Vec<String> = names.collect();
            cards.push(question_card(&asked, &names, unfolded));
        }
    }
    Ok((cards, held))
}

fn question_card(asked: &Asked, names: &[String], unfolded: bool) -> BrowseCard {
    let (row, text) = (&asked.row, &asked.row.text);
    let line = |text: &String| words::plain_line(text);
    let mut choices: Vec<CardChoice> = text
        .options
        .iter()
        .enumerate()
        .map(|(at, option)| CardChoice {
            decision: option.value,
            label: line(&option.label),
            leads_to: line(&option.description),
            guidance: option.guidance.clone(),
            recommended: text.recommends(at),
        })
        .collect();
    // The other choices keep their order.
    choices.sort_by_key(|choice| !choice.recommended);
    let since = list::render_question_age(asked, project::now());
    let waits =
        (!names.is_empty()).then(|| super::show::render_waiting_tasks(row.tasks.len(), names));
    let facts: Vec<String> = [Some(since), waits].into_iter().flatten().collect();
    BrowseCard {
        id: row.id,
        kind: words::describe_kind(row.kind),
        facts: facts.join(" · "),
        problem: line(&text.problem),
        attempts: text.attempts.iter().map(line).collect(),
        evidence: if unfolded { render_evidence(row) } else { Vec::new() },
        choices,
        advice: line(&text.recommended_text),
        can_check: row.can_check(),
    }
}

/// Formats the evidence of a question, each entry below its label.
fn render_evidence(row: &QuestionRow) -> Vec<String> {
    let lines = |entry: EvidenceEntry| {
        let rest =
            entry.lines.into_iter().map(|line| format!("  {}", words::printable_line(&line)));
        let at = entry.at.map(|at| format!("  {}", when::render_minute(at)));
        std::iter::once(entry.label.to_owned()).chain(at).chain(rest).collect::<Vec<_>>()
    };
    row.evidence.entries().into_iter().flat_map(lines).collect()
}

/// Records an answer and returns the sentence about the next step.
async fn answer_question(
    desk: &InboxContext<'_>,
    question: QuestionId,
    decision: Decision,
    guidance: Option<&str>,
) -> Result<String, CliError> {
    let given = answer::record_answer(desk, question, decision, guidance).await;
    let follows = render_outcome(given.map(|given| given.render_next_step()))?;
    Ok(format!("Question {question}: {follows}"))
}

/// Returns the sentence to show, also for an answer that came too late; any other error is returned.
fn render_outcome(said: Result<&'static str, CliError>) -> Result<String, CliError> {
    match said {
        Ok(said) => Ok(said.to_owned()),
        Err(CliError::Answer(error)) if !matches!(error, unstuck_store::AnswerError::Store(_)) => {
            Ok(format!("{error}."))
        }
        Err(error) => Err(error),
    }
}

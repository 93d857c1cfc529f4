//! Browses the open questions at a terminal, one after the other.
//!
//! [`board`] holds the state and handles keys, [`view`] lays out the lines; both are pure. This module
//! connects them to the terminal, the store and the holder.

mod board;
mod view;

use unstuck_core::engine::QuestionId;
use unstuck_core::question::{Decision, EvidenceEntry};
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use self::board::{BrowseAction, BrowseBoard, BrowseCard, CardChoice};
use super::{Asked, InboxContext, answer, list};
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::screen::{Screen, ScreenInput};
use crate::render::{when, words};

/// Shows the questions and records answers until the person leaves or no question is open.
pub(super) async fn run(inbox: &InboxContext<'_>, mut screen: Screen) -> Result<Exit, CliError> {
    let (cards, held) = load_cards(inbox).await?;
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
                let said = answer_question(inbox, question, decision, guidance.as_deref()).await?;
                screen.write_above(&said)?;
            }
            BrowseAction::Check { question } => {
                let said = render_outcome(
                    answer::request_lookup(inbox, question).await.map(|(_, said)| said),
                )?;
                screen.write_above(&format!("Question {question}: {said}"))?;
            }
        }
        let (cards, held) = load_cards(inbox).await?;
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
async fn load_cards(inbox: &InboxContext<'_>) -> Result<(Vec<BrowseCard>, bool), CliError> {
    let held = project::current_holder(&inbox.project).await.is_some();
    let mut cards = Vec::new();
    let unfolded = inbox.shows_evidence();
    for asked in inbox.load_questions(Some(QuestionStatus::Pending)).await? {
        if asked.is_open() {
            let names = inbox.load_task_names(&asked.row).await?;
            cards.push(question_card(&asked, &names, unfolded));
        }
    }
    Ok((cards, held))
}

fn question_card(asked: &Asked, names: &[String], unfolded: bool) -> BrowseCard {
    let row = &asked.row;
    let text = &row.text;
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
    inbox: &InboxContext<'_>,
    question: QuestionId,
    decision: Decision,
    guidance: Option<&str>,
) -> Result<String, CliError> {
    let given = answer::record_answer(inbox, question, decision, guidance).await;
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

#[cfg(test)]
mod tests {
    use super::board::BrowsePlace;
    use super::view::lay_out_board;
    use super::*;
    use crate::render::screen::{KeyPress, ScreenSize};

    fn choice(decision: Decision, label: &str, leads_to: &str, recommended: bool) -> CardChoice {
        let label = label.to_owned();
        let leads_to = leads_to.to_owned();
        CardChoice { decision, label, leads_to, guidance: None, recommended }
    }

    fn hands() -> BrowseCard {
        BrowseCard {
            id: QuestionId(0),
            kind: "needs a fix",
            facts: "asked 12 min ago · 1 task waits: Deploy the preview".to_owned(),
            problem:
                "I was working on “Deploy the preview”. The hosting account did not accept the key. \
                      Trying again would not help, so I am asking you right away."
                    .to_owned(),
            attempts: Vec::new(),
            evidence: Vec::new(),
            choices: vec![
                choice(Decision::ProvideCredentials, "I have done it", "The task goes on.", true),
                choice(Decision::SkipFeature, "Leave it out", "The task is left out.", false),
            ],
            advice: "Renew the key, then say that you have done it.".to_owned(),
            can_check: false,
        }
    }

    fn guidance() -> BrowseCard {
        BrowseCard {
            id: QuestionId(4),
            kind: "needs a decision",
            facts: "asked just now · 2 tasks wait: Better search, Umlauts".to_owned(),
            problem: "I tried three different ways, and each one failed.".to_owned(),
            attempts: vec![
                "Approach 1 changed two files and a check failed.".to_owned(),
                "Approach 2 changed three files and the same check failed.".to_owned(),
            ],
            evidence: vec!["Command".to_owned(), "  python3 -m pytest -q".to_owned()],
            choices: vec![
                choice(Decision::ProvideGuidance, "Give a hint", "Three fresh tries.", true),
                choice(Decision::SkipFeature, "Leave it out", "Both are left out.", false),
            ],
            advice: "A hint helps most.".to_owned(),
            can_check: true,
        }
    }

    fn board() -> BrowseBoard {
        BrowseBoard::new(vec![hands(), guidance()], false)
    }

    fn press(board: &mut BrowseBoard, keys: &[KeyPress]) -> BrowseAction {
        keys.iter().fold(BrowseAction::Stay, |_, key| board.handle_key(key))
    }

    fn typed(text: &str) -> Vec<KeyPress> {
        text.chars().map(KeyPress::Char).collect()
    }

    const fn answer(question: u32, decision: Decision, guidance: Option<String>) -> BrowseAction {
        BrowseAction::Answer { question: QuestionId(question), decision, guidance }
    }

    #[test]
    fn keys_lead_to_acts() {
        let skip = |question| answer(question, Decision::SkipFeature, None);
        let cases: Vec<(Vec<KeyPress>, BrowseAction)> = vec![
            (typed("q"), BrowseAction::Leave),
            (vec![KeyPress::Esc], BrowseAction::Leave),
            (vec![KeyPress::Ctrl('d')], BrowseAction::Leave),
            (vec![KeyPress::Enter, KeyPress::Char('q')], BrowseAction::Leave),
            (vec![KeyPress::Enter, KeyPress::Esc], BrowseAction::Reload),
            (vec![KeyPress::Enter, KeyPress::Enter], BrowseAction::Stay),
            (
                vec![KeyPress::Enter, KeyPress::Down, KeyPress::Up, KeyPress::Enter],
                BrowseAction::Stay,
            ),
            (
                vec![
                    KeyPress::Enter,
                    KeyPress::Down,
                    KeyPress::Down,
                    KeyPress::Down,
                    KeyPress::Enter,
                ],
                skip(0),
            ),
            (vec![KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter], skip(0)),
            (vec![KeyPress::Enter, KeyPress::Char('9'), KeyPress::Enter], BrowseAction::Stay),
            (
                vec![KeyPress::Enter, KeyPress::Char('j'), KeyPress::Enter],
                answer(0, Decision::ProvideCredentials, None),
            ),
            (vec![KeyPress::Down, KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter], skip(4)),
            (
                vec![KeyPress::Char('2'), KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter],
                skip(4),
            ),
            (vec![KeyPress::Enter, KeyPress::Char('c')], BrowseAction::Stay),
            (
                vec![KeyPress::Down, KeyPress::Enter, KeyPress::Char('c')],
                BrowseAction::Check { question: QuestionId(4) },
            ),
        ];
        for (keys, expected) in cases {
            assert_eq!(press(&mut board(), &keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn a_hint_is_written_before_it_is_given() {
        let mut board = board();
        let act = press(
            &mut board,
            &[KeyPress::Down, KeyPress::Enter, KeyPress::Char('1'), KeyPress::Enter],
        );
        assert_eq!(act, BrowseAction::Stay);
        assert_eq!(
            (press(&mut board, &[KeyPress::Char(' '), KeyPress::Enter]), board.note.is_some()),
            (BrowseAction::Stay, true)
        );
        let keys = [typed("use q and c"), vec![KeyPress::Enter]].concat();
        let given = answer(4, Decision::ProvideGuidance, Some("use q and c".to_owned()));
        assert_eq!(press(&mut board, &keys), given);
        assert_eq!(press(&mut board, &[KeyPress::Esc]), BrowseAction::Stay);
        assert_eq!(board.place, BrowsePlace::Question { choice: Some(0), page: 0 });
    }

    #[test]
    fn after_an_answer_comes_the_next_question() {
        let mut board = board();
        press(&mut board, &[KeyPress::Enter, KeyPress::Down, KeyPress::Enter]);
        board.reload(vec![guidance()], true);
        assert_eq!(board.current_card().unwrap().id, QuestionId(4));
        assert_eq!(board.place, BrowsePlace::Question { choice: None, page: 0 });
        let mut last = BrowseBoard::new(vec![hands(), guidance()], false);
        press(&mut last, &[KeyPress::Down, KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter]);
        last.reload(vec![hands()], true);
        assert_eq!((last.at, last.current_card().unwrap().id), (0, QuestionId(0)));
    }

    #[test]
    fn the_same_question_stays_chosen_while_others_come() {
        let mut board = board();
        press(&mut board, &[KeyPress::Down]);
        let earlier = BrowseCard { id: QuestionId(3), ..hands() };
        board.reload(vec![hands(), earlier, guidance()], false);
        assert_eq!((board.at, &board.place), (2, &BrowsePlace::List));
        board.reload(Vec::new(), false);
        assert_eq!(board.handle_key(&KeyPress::Enter), BrowseAction::Leave);
    }

    fn seen(board: &BrowseBoard, columns: usize, rows: usize) -> String {
        let picture = lay_out_board(board, ScreenSize { columns, rows });
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        let lines: Vec<String> = picture.lines.iter().map(plain).collect();
        assert!(lines.len() <= rows, "{} lines in {rows} rows", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() < columns), "{lines:#?}");
        if let Some((row, column)) = picture.cursor {
            assert!(row < lines.len() && column < columns, "{row} {column}");
        }
        lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn the_pictures() {
        let mut board = board();
        insta::assert_snapshot!("list", seen(&board, 80, 24));
        press(&mut board, &[KeyPress::Enter]);
        insta::assert_snapshot!("question", seen(&board, 80, 24));
        press(&mut board, &[KeyPress::Enter]);
        insta::assert_snapshot!("choose_first", seen(&board, 80, 24));
        press(
            &mut board,
            &[KeyPress::Esc, KeyPress::Down, KeyPress::Enter, KeyPress::Down, KeyPress::Enter],
        );
        press(&mut board, &typed("look at how the old importer did it"));
        insta::assert_snapshot!("words", seen(&board, 80, 24));
        insta::assert_snapshot!("words_narrow", seen(&board, 20, 24));
    }

    #[test]
    fn a_low_and_narrow_window_shows_what_matters() {
        let mut board = board();
        insta::assert_snapshot!("list_narrow", seen(&board, 20, 16));
        press(&mut board, &[KeyPress::Enter]);
        insta::assert_snapshot!("question_narrow", seen(&board, 20, 16));
        press(&mut board, &[KeyPress::Down, KeyPress::Down]);
        insta::assert_snapshot!("choice_narrow", seen(&board, 20, 16));
        for (columns, rows) in [(1, 1), (13, 2), (20, 3), (20, 5), (300, 4)] {
            let picture = lay_out_board(&board, ScreenSize { columns, rows });
            assert!(!picture.lines.is_empty() && picture.lines.len() <= rows, "{columns}x{rows}");
        }
    }

    #[test]
    fn a_long_question_is_turned_over_page_by_page() {
        let mut board = board();
        press(&mut board, &[KeyPress::Enter]);
        let mut firsts = Vec::new();
        for _ in 0..9 {
            let picture = lay_out_board(&board, ScreenSize { columns: 30, rows: 10 });
            board.pages = picture.pages;
            firsts.push(picture.lines[0].clone());
            press(&mut board, &[KeyPress::PageDown]);
        }
        firsts.dedup();
        assert!(firsts.len() > 2, "{firsts:#?}");
        let BrowsePlace::Question { page, .. } = board.place else { panic!() };
        assert_eq!(page, board.pages - 1);
        assert!(seen(&board, 30, 10).contains("Leave it out"), "the end is reached");
    }
}

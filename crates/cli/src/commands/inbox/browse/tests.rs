//! Tests of keys and of the layout, without a terminal.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use super::board::{BrowseAction, BrowseBoard, BrowseCard, BrowsePlace, CardChoice};
use super::view::lay_out_board;
use crate::render::screen::{KeyPress, ScreenSize};

fn choice(decision: Decision, label: &str, leads_to: &str, recommended: bool) -> CardChoice {
    let label = label.to_owned();
    let leads_to = leads_to.to_owned();
    CardChoice { decision, label, leads_to, guidance: None, recommended }
}

fn hands() -> BrowseCard {
    BrowseCard {
        id: QuestionId(0),
        kind: "needs your hands",
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
        (vec![KeyPress::Enter, KeyPress::Down, KeyPress::Up, KeyPress::Enter], BrowseAction::Stay),
        (
            vec![KeyPress::Enter, KeyPress::Down, KeyPress::Down, KeyPress::Down, KeyPress::Enter],
            skip(0),
        ),
        (vec![KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter], skip(0)),
        (vec![KeyPress::Enter, KeyPress::Char('9'), KeyPress::Enter], BrowseAction::Stay),
        (
            vec![KeyPress::Enter, KeyPress::Char('j'), KeyPress::Enter],
            answer(0, Decision::ProvideCredentials, None),
        ),
        (vec![KeyPress::Down, KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter], skip(4)),
        (vec![KeyPress::Char('2'), KeyPress::Enter, KeyPress::Char('2'), KeyPress::Enter], skip(4)),
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
    let act =
        press(&mut board, &[KeyPress::Down, KeyPress::Enter, KeyPress::Char('1'), KeyPress::Enter]);
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

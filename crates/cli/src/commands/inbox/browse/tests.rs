//! Tests of keys and of the layout, without a terminal.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use super::board::{Act, Board, Card, Choice, Place};
use super::view::picture;
use crate::render::screen::{Key, Size};

fn choice(decision: Decision, label: &str, leads_to: &str, recommended: bool) -> Choice {
    let label = label.to_owned();
    let leads_to = leads_to.to_owned();
    Choice { decision, label, leads_to, guidance: None, recommended }
}

fn hands() -> Card {
    Card {
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

fn guidance() -> Card {
    Card {
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

fn board() -> Board {
    Board::new(vec![hands(), guidance()], false)
}

fn press(board: &mut Board, keys: &[Key]) -> Act {
    keys.iter().fold(Act::Stay, |_, key| board.press(key))
}

fn typed(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

const fn answer(question: u32, decision: Decision, guidance: Option<String>) -> Act {
    Act::Answer { question: QuestionId(question), decision, guidance }
}

#[test]
fn keys_lead_to_acts() {
    let skip = |question| answer(question, Decision::SkipFeature, None);
    let cases: Vec<(Vec<Key>, Act)> = vec![
        (typed("q"), Act::Leave),
        (vec![Key::Esc], Act::Leave),
        (vec![Key::Ctrl('d')], Act::Leave),
        (vec![Key::Enter, Key::Char('q')], Act::Leave),
        (vec![Key::Enter, Key::Esc], Act::Reload),
        (vec![Key::Enter, Key::Enter], Act::Stay),
        (vec![Key::Enter, Key::Down, Key::Up, Key::Enter], Act::Stay),
        (vec![Key::Enter, Key::Down, Key::Down, Key::Down, Key::Enter], skip(0)),
        (vec![Key::Enter, Key::Char('2'), Key::Enter], skip(0)),
        (vec![Key::Enter, Key::Char('9'), Key::Enter], Act::Stay),
        (
            vec![Key::Enter, Key::Char('j'), Key::Enter],
            answer(0, Decision::ProvideCredentials, None),
        ),
        (vec![Key::Down, Key::Enter, Key::Char('2'), Key::Enter], skip(4)),
        (vec![Key::Char('2'), Key::Enter, Key::Char('2'), Key::Enter], skip(4)),
        (vec![Key::Enter, Key::Char('c')], Act::Stay),
        (vec![Key::Down, Key::Enter, Key::Char('c')], Act::Check { question: QuestionId(4) }),
    ];
    for (keys, expected) in cases {
        assert_eq!(press(&mut board(), &keys), expected, "{keys:?}");
    }
}

#[test]
fn a_hint_is_written_before_it_is_given() {
    let mut board = board();
    let act = press(&mut board, &[Key::Down, Key::Enter, Key::Char('1'), Key::Enter]);
    assert_eq!(act, Act::Stay);
    assert_eq!(
        (press(&mut board, &[Key::Char(' '), Key::Enter]), board.note.is_some()),
        (Act::Stay, true)
    );
    let keys = [typed("use q and c"), vec![Key::Enter]].concat();
    let given = answer(4, Decision::ProvideGuidance, Some("use q and c".to_owned()));
    assert_eq!(press(&mut board, &keys), given);
    assert_eq!(press(&mut board, &[Key::Esc]), Act::Stay);
    assert_eq!(board.place, Place::Question { choice: Some(0), page: 0 });
}

#[test]
fn after_an_answer_comes_the_next_question() {
    let mut board = board();
    press(&mut board, &[Key::Enter, Key::Down, Key::Enter]);
    board.reload(vec![guidance()], true);
    assert_eq!(board.card().unwrap().id, QuestionId(4));
    assert_eq!(board.place, Place::Question { choice: None, page: 0 });
    let mut last = Board::new(vec![hands(), guidance()], false);
    press(&mut last, &[Key::Down, Key::Enter, Key::Char('2'), Key::Enter]);
    last.reload(vec![hands()], true);
    assert_eq!((last.at, last.card().unwrap().id), (0, QuestionId(0)));
}

#[test]
fn the_same_question_stays_chosen_while_others_come() {
    let mut board = board();
    press(&mut board, &[Key::Down]);
    let earlier = Card { id: QuestionId(3), ..hands() };
    board.reload(vec![hands(), earlier, guidance()], false);
    assert_eq!((board.at, &board.place), (2, &Place::List));
    board.reload(Vec::new(), false);
    assert_eq!(board.press(&Key::Enter), Act::Leave);
}

fn seen(board: &Board, columns: usize, rows: usize) -> String {
    let picture = picture(board, Size { columns, rows });
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
    press(&mut board, &[Key::Enter]);
    insta::assert_snapshot!("question", seen(&board, 80, 24));
    press(&mut board, &[Key::Enter]);
    insta::assert_snapshot!("choose_first", seen(&board, 80, 24));
    press(&mut board, &[Key::Esc, Key::Down, Key::Enter, Key::Down, Key::Enter]);
    press(&mut board, &typed("look at how the old importer did it"));
    insta::assert_snapshot!("words", seen(&board, 80, 24));
    insta::assert_snapshot!("words_narrow", seen(&board, 20, 24));
}

#[test]
fn a_low_and_narrow_window_shows_what_matters() {
    let mut board = board();
    insta::assert_snapshot!("list_narrow", seen(&board, 20, 16));
    press(&mut board, &[Key::Enter]);
    insta::assert_snapshot!("question_narrow", seen(&board, 20, 16));
    press(&mut board, &[Key::Down, Key::Down]);
    insta::assert_snapshot!("choice_narrow", seen(&board, 20, 16));
    for (columns, rows) in [(1, 1), (13, 2), (20, 3), (20, 5), (300, 4)] {
        let picture = picture(&board, Size { columns, rows });
        assert!(!picture.lines.is_empty() && picture.lines.len() <= rows, "{columns}x{rows}");
    }
}

#[test]
fn a_long_question_is_turned_over_page_by_page() {
    let mut board = board();
    press(&mut board, &[Key::Enter]);
    let mut firsts = Vec::new();
    for _ in 0..9 {
        let picture = picture(&board, Size { columns: 30, rows: 10 });
        board.pages = picture.pages;
        firsts.push(picture.lines[0].clone());
        press(&mut board, &[Key::PageDown]);
    }
    firsts.dedup();
    assert!(firsts.len() > 2, "{firsts:#?}");
    let Place::Question { page, .. } = board.place else { panic!() };
    assert_eq!(page, board.pages - 1);
    assert!(seen(&board, 30, 10).contains("Leave it out"), "the end is reached");
}

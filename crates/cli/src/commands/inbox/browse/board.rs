//! The state of browsing questions: the current selection, the line that the person edits, and the effect of
//! each key. Pure.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use crate::render::screen::KeyPress;

/// A question with its texts for display.
#[derive(Clone, Debug)]
pub(super) struct BrowseCard {
    pub(super) id: QuestionId,
    pub(super) kind: &'static str,
    /// The age of the question, and the waiting tasks.
    pub(super) facts: String,
    pub(super) problem: String,
    pub(super) attempts: Vec<String>,
    /// The evidence, line by line.
    pub(super) evidence: Vec<String>,
    /// The choices, the recommended one first.
    pub(super) choices: Vec<CardChoice>,
    pub(super) advice: String,
    /// Set if the lookup behind the question can be repeated.
    pub(super) can_check: bool,
}

#[derive(Clone, Debug)]
pub(super) struct CardChoice {
    pub(super) decision: Decision,
    pub(super) label: String,
    pub(super) leads_to: String,
    /// Guidance that belongs to the choice.
    pub(super) guidance: Option<String>,
    pub(super) recommended: bool,
}

impl CardChoice {
    /// Returns whether the choice needs the person's words.
    fn needs_words(&self) -> bool {
        self.decision == Decision::ProvideGuidance && self.guidance.is_none()
    }
}

/// The current place of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BrowsePlace {
    /// The list of questions.
    List,
    /// A single question.
    Question {
        /// The selected choice. None is selected at first, so that a double Enter answers nothing.
        choice: Option<usize>,
        /// The page, for a question that is longer than the window.
        page: usize,
    },
    /// Editing the words for a choice.
    Words { choice: usize, line: LineEditor },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BrowseAction {
    /// Draw only.
    Stay,
    /// Load the questions again.
    Reload,
    /// Record an answer.
    Answer { question: QuestionId, decision: Decision, guidance: Option<String> },
    /// Repeat the lookup whether an action happened.
    Check { question: QuestionId },
    /// Leave the screen.
    Leave,
}

/// The questions, and the person's place among them.
#[derive(Clone, Debug)]
pub(super) struct BrowseBoard {
    pub(super) cards: Vec<BrowseCard>,
    /// The index of the selected or shown question.
    pub(super) at: usize,
    pub(super) place: BrowsePlace,
    pub(super) note: Option<&'static str>,
    /// Set if a process is at work that takes up an answer at once.
    pub(super) held: bool,
    /// Number of pages of the question in this window.
    pub(super) pages: usize,
}

const CHOOSE_FIRST: &str = "Choose an answer first, with the arrow keys or its number.";
const WRITE_FIRST: &str = "Write what you would try first.";

impl BrowseBoard {
    pub(super) const fn new(cards: Vec<BrowseCard>, held: bool) -> Self {
        Self { cards, at: 0, place: BrowsePlace::List, note: None, held, pages: 1 }
    }

    /// Returns the selected or shown question.
    pub(super) fn current_card(&self) -> Option<&BrowseCard> {
        self.cards.get(self.at)
    }

    /// Replaces the questions; the same question stays selected as long as it exists.
    pub(super) fn reload(&mut self, cards: Vec<BrowseCard>, held: bool) {
        let shown = self.current_card().map(|card| card.id);
        let same = cards.iter().position(|card| Some(card.id) == shown);
        self.at = same.unwrap_or(if self.at < cards.len() { self.at } else { 0 });
        if same.is_none() && self.place != BrowsePlace::List {
            self.place = BrowsePlace::Question { choice: None, page: 0 };
        }
        (self.cards, self.held) = (cards, held);
    }

    pub(super) fn handle_key(&mut self, key: &KeyPress) -> BrowseAction {
        self.note = None;
        if *key == KeyPress::Ctrl('d') || self.cards.is_empty() {
            return BrowseAction::Leave;
        }
        match self.place.clone() {
            BrowsePlace::List => self.handle_list_key(key),
            BrowsePlace::Question { choice, page } => self.handle_question_key(key, choice, page),
            BrowsePlace::Words { choice, line } => self.handle_words_key(key, choice, line),
        }
    }

    fn handle_list_key(&mut self, key: &KeyPress) -> BrowseAction {
        let last = self.cards.len() - 1;
        match key {
            KeyPress::Up | KeyPress::Char('k') => self.at = self.at.saturating_sub(1),
            KeyPress::Down | KeyPress::Char('j') => self.at = (self.at + 1).min(last),
            KeyPress::Home | KeyPress::PageUp => self.at = 0,
            KeyPress::End | KeyPress::PageDown => self.at = last,
            KeyPress::Enter | KeyPress::Right | KeyPress::Char('l') => {
                self.place = BrowsePlace::Question { choice: None, page: 0 };
            }
            KeyPress::Char('q') | KeyPress::Esc => return BrowseAction::Leave,
            key => {
                if let Some(at) = digit_index(key).filter(|at| *at <= last) {
                    self.at = at;
                }
            }
        }
        BrowseAction::Stay
    }

    fn handle_question_key(
        &mut self,
        key: &KeyPress,
        choice: Option<usize>,
        page: usize,
    ) -> BrowseAction {
        let Some(card) = self.cards.get(self.at) else { return BrowseAction::Leave };
        let last = card.choices.len().saturating_sub(1);
        let (choice, page) = match key {
            KeyPress::Up | KeyPress::Char('k') => (choice.and_then(|at| at.checked_sub(1)), 0),
            KeyPress::Down | KeyPress::Char('j') => {
                (Some(choice.map_or(0, |at| (at + 1).min(last))), 0)
            }
            KeyPress::PageDown | KeyPress::Char(' ') => {
                (None, (page + 1).min(self.pages.max(1) - 1))
            }
            KeyPress::PageUp => (None, page.saturating_sub(1)),
            KeyPress::Enter => return self.confirm_choice(choice),
            KeyPress::Esc | KeyPress::Left | KeyPress::Char('h') => {
                self.place = BrowsePlace::List;
                return BrowseAction::Reload;
            }
            KeyPress::Char('q') => return BrowseAction::Leave,
            KeyPress::Char('c') if card.can_check => {
                return BrowseAction::Check { question: card.id };
            }
            key => (digit_index(key).filter(|at| *at <= last).or(choice), page),
        };
        self.place = BrowsePlace::Question { choice, page };
        BrowseAction::Stay
    }

    fn confirm_choice(&mut self, choice: Option<usize>) -> BrowseAction {
        let chosen = choice.and_then(|at| Some((at, self.current_card()?.choices.get(at)?)));
        let Some((at, chosen)) = chosen else {
            self.note = Some(CHOOSE_FIRST);
            return BrowseAction::Stay;
        };
        if chosen.needs_words() {
            self.place = BrowsePlace::Words { choice: at, line: LineEditor::default() };
            return BrowseAction::Stay;
        }
        self.answer_action(at, None)
    }

    fn handle_words_key(
        &mut self,
        key: &KeyPress,
        choice: usize,
        mut line: LineEditor,
    ) -> BrowseAction {
        match key {
            KeyPress::Esc => {
                self.place = BrowsePlace::Question { choice: Some(choice), page: 0 };
                return BrowseAction::Stay;
            }
            KeyPress::Enter if line.text().trim().is_empty() => self.note = Some(WRITE_FIRST),
            KeyPress::Enter => {
                return self.answer_action(choice, Some(line.text().trim().to_owned()));
            }
            key => line.handle_key(key),
        }
        self.place = BrowsePlace::Words { choice, line };
        BrowseAction::Stay
    }

    fn answer_action(&self, choice: usize, guidance: Option<String>) -> BrowseAction {
        let chosen =
            self.current_card().and_then(|card| Some((card.id, card.choices.get(choice)?)));
        chosen.map_or(BrowseAction::Stay, |(question, chosen)| BrowseAction::Answer {
            question,
            decision: chosen.decision,
            guidance: guidance.or_else(|| chosen.guidance.clone()),
        })
    }
}

/// Returns the zero-based index for a digit.
fn digit_index(key: &KeyPress) -> Option<usize> {
    let KeyPress::Char(digit) = key else { return None };
    let number = usize::try_from(digit.to_digit(10)?).ok()?;
    number.checked_sub(1)
}

/// Maximum length of the line, more than a person would write at once.
const CHARS_MAX: usize = 2_000;

/// The text and the position of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineEditor {
    chars: Vec<char>,
    at: usize,
}

impl LineEditor {
    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// Returns the number of characters before the cursor.
    pub(super) const fn cursor(&self) -> usize {
        self.at
    }

    pub(super) fn handle_key(&mut self, key: &KeyPress) {
        match key {
            KeyPress::Char(c) => self.insert(*c),
            // A line break in a paste becomes a space: only Enter confirms.
            KeyPress::Pasted(text) => text.chars().for_each(|c| self.insert(c)),
            KeyPress::Backspace if self.at > 0 => {
                self.at -= 1;
                self.chars.remove(self.at);
            }
            KeyPress::Delete if self.at < self.chars.len() => {
                self.chars.remove(self.at);
            }
            KeyPress::Left => self.at = self.at.saturating_sub(1),
            KeyPress::Right => self.at = (self.at + 1).min(self.chars.len()),
            KeyPress::Home | KeyPress::Ctrl('a') => self.at = 0,
            KeyPress::End | KeyPress::Ctrl('e') => self.at = self.chars.len(),
            KeyPress::Ctrl('u') => self.remove_from(0),
            KeyPress::Ctrl('w') => self.remove_from(self.word_start()),
            _ => {}
        }
    }

    fn insert(&mut self, c: char) {
        if self.chars.len() < CHARS_MAX {
            self.chars.insert(self.at, if c.is_control() { ' ' } else { c });
            self.at += 1;
        }
    }

    /// Returns the start of the word before the cursor.
    fn word_start(&self) -> usize {
        let before = &self.chars[..self.at];
        let end = before.iter().rposition(|c| *c != ' ').map_or(0, |at| at + 1);
        before[..end].iter().rposition(|c| *c == ' ').map_or(0, |at| at + 1)
    }

    fn remove_from(&mut self, start: usize) {
        self.chars.drain(start..self.at);
        self.at = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(keys: &[KeyPress]) -> (String, usize) {
        let mut line = LineEditor::default();
        for key in keys {
            line.handle_key(key);
        }
        (line.text(), line.cursor())
    }

    fn typed(text: &str) -> Vec<KeyPress> {
        text.chars().map(KeyPress::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        let cases: [(&str, &[KeyPress], &str, usize); 9] = [
            ("abc", &[KeyPress::Backspace], "ab", 2),
            ("abc", &[KeyPress::Home, KeyPress::Delete, KeyPress::Backspace], "bc", 0),
            ("ac", &[KeyPress::Left, KeyPress::Char('b')], "abc", 2),
            ("abc", &[KeyPress::Right, KeyPress::Right, KeyPress::Delete], "abc", 3),
            ("abc", &[KeyPress::Left, KeyPress::Ctrl('u')], "c", 0),
            ("one two  ", &[KeyPress::Ctrl('w')], "one ", 4),
            ("one", &[KeyPress::Ctrl('w'), KeyPress::Ctrl('w')], "", 0),
            ("é漢", &[KeyPress::Ctrl('a'), KeyPress::Ctrl('e'), KeyPress::Backspace], "é", 1),
            ("a", &[KeyPress::Pasted("b\r\nc".into()), KeyPress::Up, KeyPress::Other], "ab  c", 5),
        ];
        for (text, keys, expected, at) in cases {
            let keys = [typed(text), keys.to_vec()].concat();
            assert_eq!(written(&keys), (expected.to_owned(), at), "{text} {keys:?}");
        }
    }

    #[test]
    fn a_line_has_an_end() {
        let (text, at) = written(&[KeyPress::Pasted("x".repeat(CHARS_MAX + 9))]);
        assert_eq!((text.len(), at), (CHARS_MAX, CHARS_MAX));
    }
}

//! The state of browsing questions: the current selection, and the effect of each key. Pure.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use super::line::Line;
use crate::render::screen::Key;

/// A question with its texts for display.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) id: QuestionId,
    pub(super) kind: &'static str,
    /// The age of the question, and the waiting tasks.
    pub(super) facts: String,
    pub(super) problem: String,
    pub(super) attempts: Vec<String>,
    /// The evidence, line by line.
    pub(super) evidence: Vec<String>,
    /// The choices, the recommended one first.
    pub(super) choices: Vec<Choice>,
    pub(super) advice: String,
    /// Set if the lookup behind the question can be repeated.
    pub(super) can_check: bool,
}

/// A choice of a question.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) decision: Decision,
    pub(super) label: String,
    pub(super) leads_to: String,
    /// Guidance that belongs to the choice.
    pub(super) guidance: Option<String>,
    pub(super) recommended: bool,
}

impl Choice {
    /// Returns whether the choice needs the person's words.
    fn needs_words(&self) -> bool {
        self.decision == Decision::ProvideGuidance && self.guidance.is_none()
    }
}

/// The current place of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
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
    Words { choice: usize, line: Line },
}

/// The action after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
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
pub(super) struct Board {
    pub(super) cards: Vec<Card>,
    /// The index of the selected or shown question.
    pub(super) at: usize,
    pub(super) place: Place,
    /// A note for the person.
    pub(super) note: Option<&'static str>,
    /// Set if a process is at work that takes up an answer at once.
    pub(super) held: bool,
    /// Number of pages of the question in this window.
    pub(super) pages: usize,
}

const CHOOSE_FIRST: &str = "Choose an answer first, with the arrow keys or its number.";
const WRITE_FIRST: &str = "Write what you would try first.";

impl Board {
    pub(super) const fn new(cards: Vec<Card>, held: bool) -> Self {
        Self { cards, at: 0, place: Place::List, note: None, held, pages: 1 }
    }

    /// Returns the selected or shown question.
    pub(super) fn card(&self) -> Option<&Card> {
        self.cards.get(self.at)
    }

    /// Replaces the questions; the same question stays selected as long as it exists.
    pub(super) fn reload(&mut self, cards: Vec<Card>, held: bool) {
        let shown = self.card().map(|card| card.id);
        let same = cards.iter().position(|card| Some(card.id) == shown);
        self.at = same.unwrap_or(if self.at < cards.len() { self.at } else { 0 });
        if same.is_none() && self.place != Place::List {
            self.place = Place::Question { choice: None, page: 0 };
        }
        (self.cards, self.held) = (cards, held);
    }

    /// Handles a key.
    pub(super) fn press(&mut self, key: &Key) -> Act {
        self.note = None;
        if *key == Key::Ctrl('d') || self.cards.is_empty() {
            return Act::Leave;
        }
        match self.place.clone() {
            Place::List => self.in_list(key),
            Place::Question { choice, page } => self.in_question(key, choice, page),
            Place::Words { choice, line } => self.in_words(key, choice, line),
        }
    }

    fn in_list(&mut self, key: &Key) -> Act {
        let last = self.cards.len() - 1;
        match key {
            Key::Up | Key::Char('k') => self.at = self.at.saturating_sub(1),
            Key::Down | Key::Char('j') => self.at = (self.at + 1).min(last),
            Key::Home | Key::PageUp => self.at = 0,
            Key::End | Key::PageDown => self.at = last,
            Key::Enter | Key::Right | Key::Char('l') => {
                self.place = Place::Question { choice: None, page: 0 };
            }
            Key::Char('q') | Key::Esc => return Act::Leave,
            key => {
                if let Some(at) = number(key).filter(|at| *at <= last) {
                    self.at = at;
                }
            }
        }
        Act::Stay
    }

    fn in_question(&mut self, key: &Key, choice: Option<usize>, page: usize) -> Act {
        let Some(card) = self.cards.get(self.at) else { return Act::Leave };
        let last = card.choices.len().saturating_sub(1);
        let (choice, page) = match key {
            Key::Up | Key::Char('k') => (choice.and_then(|at| at.checked_sub(1)), 0),
            Key::Down | Key::Char('j') => (Some(choice.map_or(0, |at| (at + 1).min(last))), 0),
            Key::PageDown | Key::Char(' ') => (None, (page + 1).min(self.pages.max(1) - 1)),
            Key::PageUp => (None, page.saturating_sub(1)),
            Key::Enter => return self.confirm(choice),
            Key::Esc | Key::Left | Key::Char('h') => {
                self.place = Place::List;
                return Act::Reload;
            }
            Key::Char('q') => return Act::Leave,
            Key::Char('c') if card.can_check => return Act::Check { question: card.id },
            key => (number(key).filter(|at| *at <= last).or(choice), page),
        };
        self.place = Place::Question { choice, page };
        Act::Stay
    }

    fn confirm(&mut self, choice: Option<usize>) -> Act {
        let chosen = choice.and_then(|at| Some((at, self.card()?.choices.get(at)?)));
        let Some((at, chosen)) = chosen else {
            self.note = Some(CHOOSE_FIRST);
            return Act::Stay;
        };
        if chosen.needs_words() {
            self.place = Place::Words { choice: at, line: Line::default() };
            return Act::Stay;
        }
        self.answer(at, None)
    }

    fn in_words(&mut self, key: &Key, choice: usize, mut line: Line) -> Act {
        match key {
            Key::Esc => {
                self.place = Place::Question { choice: Some(choice), page: 0 };
                return Act::Stay;
            }
            Key::Enter if line.text().trim().is_empty() => self.note = Some(WRITE_FIRST),
            Key::Enter => return self.answer(choice, Some(line.text().trim().to_owned())),
            key => line.press(key),
        }
        self.place = Place::Words { choice, line };
        Act::Stay
    }

    fn answer(&self, choice: usize, guidance: Option<String>) -> Act {
        let chosen = self.card().and_then(|card| Some((card.id, card.choices.get(choice)?)));
        chosen.map_or(Act::Stay, |(question, chosen)| Act::Answer {
            question,
            decision: chosen.decision,
            guidance: guidance.or_else(|| chosen.guidance.clone()),
        })
    }
}

/// Returns the zero-based index for a digit.
fn number(key: &Key) -> Option<usize> {
    let Key::Char(digit) = key else { return None };
    let number = usize::try_from(digit.to_digit(10)?).ok()?;
    number.checked_sub(1)
}

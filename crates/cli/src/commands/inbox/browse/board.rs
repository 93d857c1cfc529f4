//! The questions as a person goes through them: what is chosen, and what each key changes. Pure.

use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use super::line::Line;
use crate::render::screen::Key;

/// A question, in the words that are shown.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) id: QuestionId,
    pub(super) kind: &'static str,
    /// Since when, and who waits.
    pub(super) facts: String,
    pub(super) problem: String,
    pub(super) attempts: Vec<String>,
    /// What it rests on, line by line.
    pub(super) evidence: Vec<String>,
    /// The recommended one first.
    pub(super) choices: Vec<Choice>,
    pub(super) advice: String,
    /// Whether it can be looked up again what a person is asked.
    pub(super) can_check: bool,
}

/// Something to choose.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) decision: Decision,
    pub(super) label: String,
    pub(super) leads_to: String,
    /// The words that go with it.
    pub(super) guidance: Option<String>,
    pub(super) recommended: bool,
}

impl Choice {
    /// Whether it is nothing without a person's words.
    fn needs_words(&self) -> bool {
        self.decision == Decision::ProvideGuidance && self.guidance.is_none()
    }
}

/// Where a person is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the list of questions.
    List,
    /// At one question.
    Question {
        /// Nothing is chosen at first, so that Enter pressed twice answers nothing.
        choice: Option<usize>,
        /// How far it was turned over, where it is longer than the window.
        page: usize,
    },
    /// Writing what goes with a choice.
    Words { choice: usize, line: Line },
}

/// What is to be done after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Only draw.
    Stay,
    /// See what the questions are now.
    Reload,
    /// Take an answer down.
    Answer { question: QuestionId, decision: Decision, guidance: Option<String> },
    /// Have it looked up whether something happened.
    Check { question: QuestionId },
    /// End.
    Leave,
}

/// The questions, and where a person is among them.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) cards: Vec<Card>,
    /// The question that is chosen or shown.
    pub(super) at: usize,
    pub(super) place: Place,
    /// What a person should know now.
    pub(super) note: Option<&'static str>,
    /// Whether somebody is at work who takes an answer up at once.
    pub(super) held: bool,
    /// How many pages the question has in this window.
    pub(super) pages: usize,
}

const CHOOSE_FIRST: &str = "Choose an answer first, with the arrow keys or its number.";
const WRITE_FIRST: &str = "Write what you would try first.";

impl Board {
    pub(super) const fn new(cards: Vec<Card>, held: bool) -> Self {
        Self { cards, at: 0, place: Place::List, note: None, held, pages: 1 }
    }

    /// The question that is chosen or shown.
    pub(super) fn card(&self) -> Option<&Card> {
        self.cards.get(self.at)
    }

    /// The questions as they are now; the same one stays chosen while it is there.
    pub(super) fn reload(&mut self, cards: Vec<Card>, held: bool) {
        let shown = self.card().map(|card| card.id);
        let same = cards.iter().position(|card| Some(card.id) == shown);
        self.at = same.unwrap_or(if self.at < cards.len() { self.at } else { 0 });
        if same.is_none() && self.place != Place::List {
            self.place = Place::Question { choice: None, page: 0 };
        }
        (self.cards, self.held) = (cards, held);
    }

    /// A key was pressed.
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

/// Which one a digit means, counted from zero.
fn number(key: &Key) -> Option<usize> {
    let Key::Char(digit) = key else { return None };
    let number = usize::try_from(digit.to_digit(10)?).ok()?;
    number.checked_sub(1)
}

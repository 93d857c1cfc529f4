//! Lays out the [`Board`] as lines that fit the window. Pure.

use super::board::{Board, Card, Choice, Place};
use super::line::Line;
use crate::render::screen::Size;
use crate::render::{style, words, wrapped};

/// Maximum width of text in columns; longer lines are hard to read, however wide the window is.
const COLUMNS_MAX: usize = 96;
/// Minimum width for a layout.
const COLUMNS_MIN: usize = 12;
/// Maximum number of lines of a problem in the list.
const LIST_LINES_MAX: usize = 2;
/// Column at which the text of a choice begins.
const INDENT: usize = 4;

/// The lines to draw.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) lines: Vec<String>,
    pub(super) cursor: Option<(usize, usize)>,
    /// Number of pages.
    pub(super) pages: usize,
}

/// Lays out the board for a window of this size.
pub(super) fn picture(board: &Board, size: Size) -> Picture {
    let columns = size.columns.saturating_sub(1).clamp(COLUMNS_MIN, COLUMNS_MAX);
    let mut sheet = Sheet { columns, lines: Vec::new(), focus: None, cursor: None };
    let keys = match (&board.place, board.card()) {
        (Place::Question { choice, .. }, Some(card)) => {
            sheet.question(card, *choice);
            if card.can_check {
                "↑↓ or number: choose · Enter: answer · c: look it up again · Esc: back · q: leave"
            } else {
                "↑↓ or number: choose · Enter: answer · Esc: back · q: leave"
            }
        }
        (Place::Words { choice, line }, Some(card)) => {
            sheet.words(card, card.choices.get(*choice), line);
            "Enter: answer · Esc: back"
        }
        _ => {
            sheet.list(board);
            "↑↓ or number: choose · Enter: open · q: leave"
        }
    };
    let foot = sheet.foot(board, keys);
    let page = if let Place::Question { page, .. } = board.place { page } else { 0 };
    sheet.cut(&foot, size.rows, page)
}

/// The lines before they are cut to the window.
struct Sheet {
    columns: usize,
    lines: Vec<String>,
    /// The lines that must be visible.
    focus: Option<(usize, usize)>,
    cursor: Option<(usize, usize)>,
}

impl Sheet {
    fn list(&mut self, board: &Board) {
        let count = board.cards.len();
        self.title(&words::number(count, "question waits for you", "questions wait for you"));
        if !board.held {
            self.dim("Nothing is running; answers are taken up at the next start.");
        }
        for (at, card) in board.cards.iter().enumerate() {
            self.lines.push(String::new());
            let begin = self.lines.len();
            self.head(at, at == board.at, card.kind);
            let short = self.wrapped(&card.problem, INDENT);
            let mut short: Vec<String> = short.lines().map(str::to_owned).collect();
            if short.len() > LIST_LINES_MAX {
                short.truncate(LIST_LINES_MAX);
                short[LIST_LINES_MAX - 1].push('…');
            }
            self.lines.extend(short);
            self.paragraph(INDENT, &card.facts, style::DIM);
            if at == board.at {
                self.focus = Some((begin, self.lines.len()));
            }
        }
    }

    fn question(&mut self, card: &Card, chosen: Option<usize>) {
        self.title(&format!("Question {}: {}", card.id, card.kind));
        self.dim(&card.facts);
        self.lines.push(String::new());
        self.text(0, &card.problem);
        if !card.attempts.is_empty() {
            self.lines.push(String::new());
            self.title("What was tried");
            for attempt in &card.attempts {
                self.text(2, &format!("- {attempt}"));
            }
        }
        if !card.evidence.is_empty() {
            self.lines.push(String::new());
            self.title("What it rests on");
            for line in &card.evidence {
                self.cut_line(2, line);
            }
        }
        self.lines.push(String::new());
        let recommended = card.choices.iter().any(|choice| choice.recommended);
        self.title(if recommended { "What I would do" } else { "Before you choose" });
        self.text(2, &card.advice);
        self.lines.push(String::new());
        self.title("What you can choose");
        for (at, choice) in card.choices.iter().enumerate() {
            let begin = self.lines.len();
            self.choice(at, chosen == Some(at), choice);
            if chosen == Some(at) {
                self.focus = Some((begin, self.lines.len()));
            }
        }
    }

    /// Adds a line of a program's output, cut at the edge of the window instead of wrapped.
    fn cut_line(&mut self, indent: usize, line: &str) {
        let room = self.columns.saturating_sub(indent);
        self.lines.push(format!("{:indent$}{}", "", words::cut(line, room)));
    }

    fn choice(&mut self, at: usize, chosen: bool, choice: &Choice) {
        let here = if choice.recommended { " (recommended)" } else { "" };
        self.head(at, chosen, &format!("{}{here}", choice.label));
        self.paragraph(INDENT, &choice.leads_to, style::DIM);
    }

    fn words(&mut self, card: &Card, choice: Option<&Choice>, line: &Line) {
        self.title(&format!("Question {}: {}", card.id, card.kind));
        self.lines.push(String::new());
        self.text(0, &card.problem);
        self.lines.push(String::new());
        if let Some(choice) = choice {
            self.title(&choice.label);
            self.dim(&choice.leads_to);
        }
        self.lines.push(String::new());
        self.text(0, "Your words, which go to the agent as they are:");
        let room = self.columns - 2;
        let begin = self.lines.len();
        let chars: Vec<char> = line.text().chars().collect();
        let rows = chars.len() / room + 1;
        for row in 0..rows {
            let part = &chars[row * room..chars.len().min((row + 1) * room)];
            let mark = if row == 0 { "> " } else { "  " };
            self.lines.push(format!("{mark}{}", part.iter().collect::<String>()));
        }
        let row = begin + line.at() / room;
        self.cursor = Some((row, line.at() % room + 2));
        self.focus = Some((row, row + 1));
    }

    /// Adds a numbered line such as `› 2 the words`, with the mark if it is selected.
    fn head(&mut self, at: usize, chosen: bool, text: &str) {
        let mark = if chosen { '›' } else { ' ' };
        let number = at + 1;
        let look = if chosen { style::STRONG } else { anstyle::Style::new() };
        for (row, part) in self.wrapped(text, INDENT).lines().enumerate() {
            let front = if row == 0 { format!("{mark} {number:<1} ") } else { String::new() };
            let part = if row == 0 { part.trim_start() } else { part };
            self.lines.push(format!("{look}{front}{part}{look:#}"));
        }
    }

    fn title(&mut self, text: &str) {
        self.paragraph(0, text, style::TITLE);
    }

    fn dim(&mut self, text: &str) {
        self.paragraph(0, text, style::DIM);
    }

    fn text(&mut self, indent: usize, text: &str) {
        self.paragraph(indent, text, anstyle::Style::new());
    }

    fn paragraph(&mut self, indent: usize, text: &str, look: anstyle::Style) {
        for part in self.wrapped(text, indent).lines() {
            self.lines.push(format!("{look}{part}{look:#}"));
        }
    }

    /// Wraps text to lines that begin at a column. A word that is too long for a line is broken.
    fn wrapped(&self, text: &str, indent: usize) -> String {
        let room = self.columns.saturating_sub(indent).max(1);
        let mut whole = String::new();
        for word in text.split(' ') {
            let chars: Vec<char> = word.chars().collect();
            for part in chars.chunks(room) {
                whole.extend(part);
                whole.push(' ');
            }
        }
        format!("{:indent$}{}", "", wrapped(whole.trim_end(), indent, self.columns))
    }

    /// Returns the lines at the bottom: the note, and the keys.
    fn foot(&self, board: &Board, keys: &str) -> Vec<String> {
        let dim = style::DIM;
        let strong = style::STRONG;
        let mut lines = vec![String::new()];
        if let Some(note) = board.note {
            let note = self.wrapped(note, 0);
            lines.extend(note.lines().map(|line| format!("{strong}{line}{strong:#}")));
        }
        let keys = self.wrapped(keys, 0);
        lines.extend(keys.lines().map(|line| format!("{dim}{line}{dim:#}")));
        lines
    }

    /// Cuts the lines to the window, with the focus visible.
    fn cut(self, foot: &[String], rows: usize, page: usize) -> Picture {
        // A very low window shows no keys.
        let foot = if foot.len() + 3 > rows { &foot[..0] } else { foot };
        let room = rows.saturating_sub(foot.len()).max(1);
        let count = self.lines.len();
        if count <= room {
            let lines = self.lines.into_iter().chain(foot.iter().cloned()).collect();
            return Picture { lines, cursor: self.cursor, pages: 1 };
        }
        // The last row shows that there is more.
        let shown = room.saturating_sub(1).max(1);
        let last = count - shown;
        let start = match self.focus {
            // A focus longer than the window is shown from its beginning.
            Some((begin, end)) => end.saturating_sub(shown).min(begin),
            None => page * shown,
        };
        let start = start.min(last);
        let dim = style::DIM;
        let mut lines: Vec<String> = self.lines[start..start + shown].to_vec();
        if room > 1 {
            let place = format!("… {}-{} of {count}", start + 1, start + shown);
            let long = format!("{place} · PgUp PgDn");
            let more = if long.chars().count() <= self.columns { long } else { place };
            lines.push(format!("{dim}{more}{dim:#}"));
        }
        lines.extend(foot.iter().cloned());
        let cursor = self.cursor.and_then(|(row, column)| Some((row.checked_sub(start)?, column)));
        Picture { lines, cursor, pages: count.div_ceil(shown) }
    }
}

//! Lays out the [`BrowseBoard`] as lines that fit the window. Pure.

use super::board::{BrowseBoard, BrowseCard, BrowsePlace, CardChoice, LineEditor};
use crate::render::screen::ScreenSize;
use crate::render::style::{DIM, STRONG, TITLE};
use crate::render::{words, wrap_text};

/// Maximum width of text in columns; longer lines are hard to read, however wide the window is.
const COLUMNS_MAX: usize = 96;
/// Minimum width for a layout.
const COLUMNS_MIN: usize = 12;
/// Maximum number of lines of a problem in the list.
const LIST_LINES_MAX: usize = 2;
/// Column at which the text of a choice begins.
const INDENT: usize = 4;

#[derive(Debug)]
pub(super) struct BrowsePicture {
    pub(super) lines: Vec<String>,
    pub(super) cursor: Option<(usize, usize)>,
    pub(super) pages: usize,
}

/// Lays out the board for a window of this size.
pub(super) fn lay_out_board(board: &BrowseBoard, size: ScreenSize) -> BrowsePicture {
    let columns = size.columns.saturating_sub(1).clamp(COLUMNS_MIN, COLUMNS_MAX);
    let mut sheet = BrowseSheet { columns, lines: Vec::new(), focus: None, cursor: None };
    let keys = match (&board.place, board.current_card()) {
        (BrowsePlace::Question { choice, .. }, Some(card)) => {
            sheet.push_question(card, *choice);
            if card.can_check {
                "↑↓ or number: choose · Enter: answer · c: look it up again · Esc: back · q: leave"
            } else {
                "↑↓ or number: choose · Enter: answer · Esc: back · q: leave"
            }
        }
        (BrowsePlace::Words { choice, line }, Some(card)) => {
            sheet.push_words(card, card.choices.get(*choice), line);
            "Enter: answer · Esc: back"
        }
        _ => {
            sheet.push_list(board);
            "↑↓ or number: choose · Enter: open · q: leave"
        }
    };
    let foot = sheet.foot_lines(board, keys);
    let page = if let BrowsePlace::Question { page, .. } = board.place { page } else { 0 };
    sheet.cut_to_window(&foot, size.rows, page)
}

/// The lines before they are cut to the window.
struct BrowseSheet {
    columns: usize,
    lines: Vec<String>,
    /// The lines that must be visible.
    focus: Option<(usize, usize)>,
    cursor: Option<(usize, usize)>,
}

impl BrowseSheet {
    fn push_list(&mut self, board: &BrowseBoard) {
        let count = board.cards.len();
        self.push_title(&words::render_count(
            count, "question waits for you", "questions wait for you",
        ));
        if !board.held {
            self.push_dim("Nothing is running; answers take effect at the next start.");
        }
        for (at, card) in board.cards.iter().enumerate() {
            self.lines.push(String::new());
            let begin = self.lines.len();
            self.push_numbered(at, at == board.at, card.kind);
            let short = self.wrap_indented(&card.problem, INDENT);
            let mut short: Vec<String> = short.lines().map(str::to_owned).collect();
            if short.len() > LIST_LINES_MAX {
                short.truncate(LIST_LINES_MAX);
                short[LIST_LINES_MAX - 1].push('…');
            }
            self.lines.extend(short);
            self.push_paragraph(INDENT, &card.facts, DIM);
            if at == board.at {
                self.focus = Some((begin, self.lines.len()));
            }
        }
    }

    fn push_question(&mut self, card: &BrowseCard, chosen: Option<usize>) {
        self.push_title(&format!("Question {}: {}", card.id, card.kind));
        self.push_dim(&card.facts);
        self.lines.push(String::new());
        self.push_text(0, &card.problem);
        if !card.attempts.is_empty() {
            self.lines.push(String::new());
            self.push_title("What was tried");
            for attempt in &card.attempts {
                self.push_text(2, &format!("- {attempt}"));
            }
        }
        if !card.evidence.is_empty() {
            self.lines.push(String::new());
            self.push_title("Evidence");
            for line in &card.evidence {
                self.push_cut_line(2, line);
            }
        }
        self.lines.push(String::new());
        let recommended = card.choices.iter().any(|choice| choice.recommended);
        self.push_title(if recommended { "What you should do" } else { "Before you choose" });
        self.push_text(2, &card.advice);
        self.lines.push(String::new());
        self.push_title("What you can choose");
        for (at, choice) in card.choices.iter().enumerate() {
            let begin = self.lines.len();
            self.push_choice(at, chosen == Some(at), choice);
            if chosen == Some(at) {
                self.focus = Some((begin, self.lines.len()));
            }
        }
    }

    /// Adds a line of a program's output, cut at the edge of the window instead of wrapped.
    fn push_cut_line(&mut self, indent: usize, line: &str) {
        let room = self.columns.saturating_sub(indent);
        self.lines.push(format!("{:indent$}{}", "", words::cut_to_columns(line, room)));
    }

    fn push_choice(&mut self, at: usize, chosen: bool, choice: &CardChoice) {
        let here = if choice.recommended { " (recommended)" } else { "" };
        self.push_numbered(at, chosen, &format!("{}{here}", choice.label));
        self.push_paragraph(INDENT, &choice.leads_to, DIM);
    }

    fn push_words(&mut self, card: &BrowseCard, choice: Option<&CardChoice>, line: &LineEditor) {
        self.push_title(&format!("Question {}: {}", card.id, card.kind));
        self.lines.push(String::new());
        self.push_text(0, &card.problem);
        self.lines.push(String::new());
        if let Some(choice) = choice {
            self.push_title(&choice.label);
            self.push_dim(&choice.leads_to);
        }
        self.lines.push(String::new());
        self.push_text(0, "Your words, which go to the agent as they are:");
        let room = self.columns - 2;
        let begin = self.lines.len();
        let chars: Vec<char> = line.text().chars().collect();
        let rows = chars.len() / room + 1;
        for row in 0..rows {
            let part = &chars[row * room..chars.len().min((row + 1) * room)];
            let mark = if row == 0 { "> " } else { "  " };
            self.lines.push(format!("{mark}{}", part.iter().collect::<String>()));
        }
        let row = begin + line.cursor() / room;
        self.cursor = Some((row, line.cursor() % room + 2));
        self.focus = Some((row, row + 1));
    }

    /// Adds a numbered line such as `› 2 the words`, with the mark if it is selected.
    fn push_numbered(&mut self, at: usize, chosen: bool, text: &str) {
        let mark = if chosen { '›' } else { ' ' };
        let number = at + 1;
        let look = if chosen { STRONG } else { anstyle::Style::new() };
        for (row, part) in self.wrap_indented(text, INDENT).lines().enumerate() {
            let front = if row == 0 { format!("{mark} {number:<1} ") } else { String::new() };
            let part = if row == 0 { part.trim_start() } else { part };
            self.lines.push(format!("{look}{front}{part}{look:#}"));
        }
    }

    fn push_title(&mut self, text: &str) {
        self.push_paragraph(0, text, TITLE);
    }

    fn push_dim(&mut self, text: &str) {
        self.push_paragraph(0, text, DIM);
    }

    fn push_text(&mut self, indent: usize, text: &str) {
        self.push_paragraph(indent, text, anstyle::Style::new());
    }

    fn push_paragraph(&mut self, indent: usize, text: &str, look: anstyle::Style) {
        for part in self.wrap_indented(text, indent).lines() {
            self.lines.push(format!("{look}{part}{look:#}"));
        }
    }

    /// Wraps text to lines that begin at a column. A word that is too long for a line is broken.
    fn wrap_indented(&self, text: &str, indent: usize) -> String {
        let room = self.columns.saturating_sub(indent).max(1);
        let mut whole = String::new();
        for word in text.split(' ') {
            let chars: Vec<char> = word.chars().collect();
            for part in chars.chunks(room) {
                whole.extend(part);
                whole.push(' ');
            }
        }
        format!("{:indent$}{}", "", wrap_text(whole.trim_end(), indent, self.columns))
    }

    /// Returns the lines at the bottom: the note, and the keys.
    fn foot_lines(&self, board: &BrowseBoard, keys: &str) -> Vec<String> {
        let mut lines = vec![String::new()];
        if let Some(note) = board.note {
            let note = self.wrap_indented(note, 0);
            lines.extend(note.lines().map(|line| format!("{STRONG}{line}{STRONG:#}")));
        }
        let keys = self.wrap_indented(keys, 0);
        lines.extend(keys.lines().map(|line| format!("{DIM}{line}{DIM:#}")));
        lines
    }

    /// Cuts the lines to the window, with the focus visible.
    fn cut_to_window(self, foot: &[String], rows: usize, page: usize) -> BrowsePicture {
        // A very low window shows no keys.
        let foot = if foot.len() + 3 > rows { &foot[..0] } else { foot };
        let room = rows.saturating_sub(foot.len()).max(1);
        let count = self.lines.len();
        if count <= room {
            let lines = self.lines.into_iter().chain(foot.iter().cloned()).collect();
            return BrowsePicture { lines, cursor: self.cursor, pages: 1 };
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
        let mut lines: Vec<String> = self.lines[start..start + shown].to_vec();
        if room > 1 {
            let place = format!("… {}-{} of {count}", start + 1, start + shown);
            let long = format!("{place} · PgUp PgDn");
            let more = if long.chars().count() <= self.columns { long } else { place };
            lines.push(format!("{DIM}{more}{DIM:#}"));
        }
        lines.extend(foot.iter().cloned());
        let cursor = self.cursor.and_then(|(row, column)| Some((row.checked_sub(start)?, column)));
        BrowsePicture { lines, cursor, pages: count.div_ceil(shown) }
    }
}

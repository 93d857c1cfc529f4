//! Converts lines to the bytes that draw them over the previous ones. Pure.
//!
//! The cursor stays within the lines between two drawings, so the distance to their top is known. The
//! terminal never wraps a line: a line that is too wide is cut, so that each takes exactly one row.

// Writing to a string cannot fail, so the result is ignored.
use std::fmt::Write as _;

use anstream::adapter::strip_str;

/// Begins a synchronized update, hides the cursor and turns wrapping off until the drawing is complete.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR_LINE_END: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The lines that are on the screen.
#[derive(Debug, Default)]
pub(super) struct ScreenFrame {
    lines: Vec<String>,
    /// The row of the cursor, counted from the first line.
    row: usize,
    columns: usize,
}

impl ScreenFrame {
    /// Returns the bytes that draw as many of these lines as fit, with the cursor at a row and column or
    /// hidden.
    pub(super) fn draw(
        &mut self,
        mut lines: Vec<String>,
        cursor: Option<(usize, usize)>,
        size: ScreenSize,
    ) -> String {
        lines.truncate(size.rows.max(1));
        let mut out = BEGIN.to_owned();
        self.move_to_top(&mut out, size.columns);
        if self.columns != size.columns || lines.is_empty() {
            // The content on the screen cannot be relied on.
            out.push_str(CLEAR_BELOW);
            self.lines.clear();
        }
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            if self.lines.get(at) != Some(line) {
                let _ = write!(out, "{line}{CLEAR_LINE_END}");
            }
        }
        if self.lines.len() > lines.len() {
            // Clear the rows below without touching the last line.
            let _ = write!(out, "\r\n{CLEAR_BELOW}\x1b[A");
        }
        self.row = lines.len().saturating_sub(1);
        out.push('\r');
        if let Some((row, column)) = cursor.filter(|(row, _)| *row < lines.len()) {
            move_up(&mut out, self.row - row);
            if column > 0 {
                let _ = write!(out, "\x1b[{column}C");
            }
            out.push_str(SHOW_CURSOR);
            self.row = row;
        }
        out.push_str(END);
        (self.lines, self.columns) = (lines, size.columns);
        out
    }

    /// Returns the bytes that remove the lines; the cursor ends where the first line was.
    pub(super) fn clear(&mut self, size: ScreenSize) -> String {
        let mut out = String::new();
        self.move_to_top(&mut out, size.columns);
        let _ = write!(out, "{CLEAR_BELOW}{SHOW_CURSOR}");
        *self = Self::default();
        out
    }

    /// Returns the bytes that leave the lines in place and move the cursor below them.
    pub(super) fn leave(&mut self) -> String {
        let mut out = String::new();
        if !self.lines.is_empty() {
            let below = self.lines.len() - 1 - self.row;
            out.push_str(&"\n".repeat(below));
            out.push_str("\r\n");
        }
        out.push_str(SHOW_CURSOR);
        *self = Self::default();
        out
    }

    /// Moves the cursor to the first line. A terminal that became narrower has wrapped the lines that no
    /// longer fit.
    fn move_to_top(&self, out: &mut String, columns: usize) {
        let rows = |line: &String| {
            let width = strip_str(line).to_string().chars().count().min(self.columns);
            if columns < self.columns { width.div_ceil(columns.max(1)).max(1) } else { 1 }
        };
        out.push('\r');
        move_up(out, self.lines.iter().take(self.row).map(rows).sum());
    }
}

fn move_up(out: &mut String, rows: usize) {
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ScreenSize = ScreenSize { columns: 20, rows: 4 };

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// A minimal terminal emulator for the sequences that a frame sends.
    #[derive(Default)]
    struct Shown {
        rows: Vec<Vec<char>>,
        at: (usize, usize),
        cursor: bool,
        wraps: bool,
    }

    impl Shown {
        fn see(&mut self, bytes: &str) {
            let mut chars = bytes.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\r' => self.at.1 = 0,
                    '\n' => self.at.0 += 1,
                    '\x1b' => self.sequence(&mut chars),
                    c => self.put(c),
                }
                while self.rows.len() <= self.at.0 {
                    self.rows.push(Vec::new());
                }
            }
        }

        fn put(&mut self, c: char) {
            assert!(!self.wraps, "a line may be wrapped");
            let row = &mut self.rows[self.at.0];
            row.resize(row.len().max(self.at.1 + 1), ' ');
            row[self.at.1] = c;
            self.at.1 += 1;
        }

        fn sequence(&mut self, chars: &mut std::str::Chars<'_>) {
            assert_eq!(chars.next(), Some('['));
            let mut number = String::new();
            let letter = loop {
                match chars.next().unwrap() {
                    c if c.is_ascii_alphabetic() => break c,
                    c => number.push(c),
                }
            };
            let count = number.parse().unwrap_or(1);
            let (row, column) = self.at;
            match (number.as_str(), letter) {
                ("?25", set) => self.cursor = set == 'h',
                ("?7", set) => self.wraps = set == 'h',
                ("?2026", _) | (_, 'm') => {}
                (_, 'A') => self.at.0 = row.checked_sub(count).expect("above the window"),
                (_, 'C') => self.at.1 = column + count,
                (_, 'K') => self.rows[row].truncate(column),
                (_, 'J') => {
                    self.rows[row].truncate(column);
                    self.rows.truncate(row + 1);
                }
                other => panic!("{other:?}"),
            }
        }

        fn text(&self) -> String {
            let rows = self.rows.iter().map(|row| row.iter().collect::<String>());
            rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
        }
    }

    #[test]
    fn each_picture_replaces_the_last_one() {
        let mut frame = ScreenFrame::default();
        let mut shown = Shown::default();
        for text in ["one\ntwo\nthree", "one\n2", "", "a\nb\nc\nd\nthere is no room", "a\nx"] {
            shown.see(&frame.draw(lines(text), None, SIZE));
            let expected: Vec<&str> = text.lines().take(SIZE.rows).collect();
            assert_eq!(shown.text(), expected.join("\n"));
            assert!(!shown.cursor && shown.wraps);
        }
    }

    #[test]
    fn what_is_the_same_is_not_written_again() {
        let mut frame = ScreenFrame::default();
        frame.draw(lines("same\nold"), None, SIZE);
        let second = frame.draw(lines("same\nnew"), None, SIZE);
        assert!(!second.contains("same") && second.contains("new"), "{second:?}");
        let wider = frame.draw(lines("same\nnew"), None, ScreenSize { columns: 30, ..SIZE });
        assert!(wider.contains("same"), "after a change of the size nothing is sure");
    }

    #[test]
    fn a_cursor_stands_where_it_is_wanted_and_the_next_picture_finds_its_top() {
        let mut frame = ScreenFrame::default();
        let mut shown = Shown::default();
        shown.see(&frame.draw(lines("one\ntwo\nthree"), Some((1, 2)), SIZE));
        assert_eq!((shown.at, shown.cursor), ((1, 2), true));
        shown.see(&frame.draw(lines("a\nb"), None, SIZE));
        assert_eq!((shown.text().as_str(), shown.cursor), ("a\nb", false));
    }

    #[test]
    fn what_was_there_before_stays_when_the_lines_go_and_when_they_stay() {
        for (cursor, clears) in [(None, true), (Some((0, 1)), true), (Some((0, 1)), false)] {
            let mut frame = ScreenFrame::default();
            let rows = vec!["before".chars().collect()];
            let mut shown = Shown { rows, at: (1, 0), ..Shown::default() };
            shown.see(&frame.draw(lines("one\ntwo"), cursor, SIZE));
            let end = if clears { frame.clear(SIZE) } else { frame.leave() };
            shown.see(&end);
            let expected = if clears { "before" } else { "before\none\ntwo" };
            assert_eq!((shown.text().as_str(), shown.cursor), (expected, true));
            assert_eq!(shown.at, (if clears { 1 } else { 3 }, 0));
        }
    }

    #[test]
    fn a_narrower_window_has_broken_the_lines() {
        let mut frame = ScreenFrame::default();
        frame.draw(lines("\x1b[1mfifteen letters\x1b[0m\nshort\nlast"), None, SIZE);
        let drawn = frame.draw(lines("new"), None, ScreenSize { columns: 10, ..SIZE });
        assert!(drawn.contains("\r\x1b[3A"), "{drawn:?}");
    }
}

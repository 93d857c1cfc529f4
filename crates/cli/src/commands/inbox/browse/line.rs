//! A line editor for the person's words. Pure.

use crate::render::screen::KeyPress;

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

//! A line editor for the person's words. Pure.

use crate::render::screen::Key;

/// Maximum length of the line, more than a person would write at once.
const CHARS_MAX: usize = 2_000;

/// The text and the position of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    chars: Vec<char>,
    at: usize,
}

impl Line {
    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// Returns the number of characters before the cursor.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) fn press(&mut self, key: &Key) {
        match key {
            Key::Char(c) => self.insert(*c),
            // A line break in a paste becomes a space: only Enter confirms.
            Key::Pasted(text) => text.chars().for_each(|c| self.insert(c)),
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.chars.remove(self.at);
            }
            Key::Delete if self.at < self.chars.len() => {
                self.chars.remove(self.at);
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.chars.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.chars.len(),
            Key::Ctrl('u') => self.remove_from(0),
            Key::Ctrl('w') => self.remove_from(self.word()),
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
    fn word(&self) -> usize {
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

    fn written(keys: &[Key]) -> (String, usize) {
        let mut line = Line::default();
        for key in keys {
            line.press(key);
        }
        (line.text(), line.at())
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        let cases: [(&str, &[Key], &str, usize); 9] = [
            ("abc", &[Key::Backspace], "ab", 2),
            ("abc", &[Key::Home, Key::Delete, Key::Backspace], "bc", 0),
            ("ac", &[Key::Left, Key::Char('b')], "abc", 2),
            ("abc", &[Key::Right, Key::Right, Key::Delete], "abc", 3),
            ("abc", &[Key::Left, Key::Ctrl('u')], "c", 0),
            ("one two  ", &[Key::Ctrl('w')], "one ", 4),
            ("one", &[Key::Ctrl('w'), Key::Ctrl('w')], "", 0),
            ("é漢", &[Key::Ctrl('a'), Key::Ctrl('e'), Key::Backspace], "é", 1),
            ("a", &[Key::Pasted("b\r\nc".into()), Key::Up, Key::Other], "ab  c", 5),
        ];
        for (text, keys, expected, at) in cases {
            let keys = [typed(text), keys.to_vec()].concat();
            assert_eq!(written(&keys), (expected.to_owned(), at), "{text} {keys:?}");
        }
    }

    #[test]
    fn a_line_has_an_end() {
        let (text, at) = written(&[Key::Pasted("x".repeat(CHARS_MAX + 9))]);
        assert_eq!((text.len(), at), (CHARS_MAX, CHARS_MAX));
    }
}

//! Decodes the bytes of a terminal into keys. Pure; arbitrary bytes are safe.

/// Maximum number of bytes of a paste; a person does not paste more into a line.
const PASTE_BYTES_MAX: usize = 64 * 1024;
/// Maximum length of an escape sequence; no key is longer.
const SEQUENCE_BYTES_MAX: usize = 32;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
const ESCAPE: u8 = 0x1b;

/// A key press, or a paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A printable character.
    Char(char),
    /// Control held with a letter, such as `Ctrl('u')`.
    Ctrl(char),
    Enter,
    Esc,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// Text that was pasted, not typed.
    Pasted(String),
    /// A key without a meaning here.
    Other,
}

/// Bytes that were received and not decoded yet.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
}

/// The key and the number of bytes it took; `None` where more bytes are needed.
type Read = Option<(Key, usize)>;

impl Keys {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns whether a key has begun and not ended. An Escape that is not followed by anything looks the
    /// same.
    pub(super) const fn is_partial(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Takes the next complete key.
    pub(super) fn next(&mut self) -> Option<Key> {
        let (key, taken) = read(&self.bytes)?;
        self.bytes.drain(..taken);
        Some(key)
    }

    /// Takes the remaining bytes as one key, because no more bytes came.
    pub(super) fn end(&mut self) -> Option<Key> {
        let bytes = std::mem::take(&mut self.bytes);
        match bytes.as_slice() {
            [] => None,
            [ESCAPE] => Some(Key::Esc),
            bytes => Some(bytes.strip_prefix(PASTE_BEGINS).map_or(Key::Other, pasted)),
        }
    }
}

fn read(bytes: &[u8]) -> Read {
    match bytes {
        [] | [ESCAPE] | [ESCAPE, b'O'] => None,
        [ESCAPE, b'[', rest @ ..] => sequence(bytes, rest),
        [ESCAPE, b'O', letter, ..] => Some((letter_key(*letter), 3)),
        // A key held with Alt: an Escape, then the key.
        [ESCAPE, ..] => Some((Key::Esc, 1)),
        [b'\r' | b'\n', ..] => Some((Key::Enter, 1)),
        [0x08 | 0x7f, ..] => Some((Key::Backspace, 1)),
        [low @ 0x01..=0x1a, ..] => Some((Key::Ctrl(char::from(low + b'a' - 1)), 1)),
        [low, ..] if low.is_ascii_control() => Some((Key::Other, 1)),
        _ => character(bytes),
    }
}

/// Decodes `ESC [`, some numbers and the final letter.
fn sequence(bytes: &[u8], rest: &[u8]) -> Read {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let endless = rest.len() > SEQUENCE_BYTES_MAX;
        return endless.then_some((Key::Other, bytes.len()));
    };
    if let Some(text) = bytes.strip_prefix(PASTE_BEGINS) {
        return paste(text);
    }
    let number = rest[..end].split(|byte| *byte == b';').next().unwrap_or_default();
    let key = match (rest[end], number) {
        (b'~', b"1" | b"7") => Key::Home,
        (b'~', b"4" | b"8") => Key::End,
        (b'~', b"3") => Key::Delete,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        (letter, _) => letter_key(letter),
    };
    Some((key, end + 3))
}

const fn letter_key(letter: u8) -> Key {
    match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => Key::Other,
    }
}

fn paste(text: &[u8]) -> Read {
    let end = text.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS);
    match end {
        Some(end) => Some((pasted(&text[..end]), PASTE_BEGINS.len() + end + PASTE_ENDS.len())),
        None if text.len() > PASTE_BYTES_MAX => {
            Some((pasted(text), PASTE_BEGINS.len() + text.len()))
        }
        None => None,
    }
}

fn pasted(text: &[u8]) -> Key {
    let text = &text[..text.len().min(PASTE_BYTES_MAX)];
    Key::Pasted(String::from_utf8_lossy(text).into_owned())
}

fn character(bytes: &[u8]) -> Read {
    let some = &bytes[..bytes.len().min(4)];
    let (valid, broken) = match std::str::from_utf8(some) {
        Ok(text) => (text, false),
        Err(error) => {
            let text = std::str::from_utf8(&some[..error.valid_up_to()]).unwrap_or_default();
            (text, error.error_len().is_some())
        }
    };
    match valid.chars().next() {
        Some(c) => Some((Key::Char(c), c.len_utf8())),
        None => broken.then_some((Key::Other, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        keys.push(bytes);
        std::iter::from_fn(|| keys.next()).collect()
    }

    #[test]
    fn each_key_is_read_from_its_bytes() {
        let cases: [(&[u8], &[Key]); 14] = [
            (b"aQ", &[Key::Char('a'), Key::Char('Q')]),
            ("é漢🙂".as_bytes(), &[Key::Char('é'), Key::Char('漢'), Key::Char('🙂')]),
            (b"\r\n", &[Key::Enter, Key::Enter]),
            (b"\x7f\x08", &[Key::Backspace, Key::Backspace]),
            (b"\x03\x15\x1a", &[Key::Ctrl('c'), Key::Ctrl('u'), Key::Ctrl('z')]),
            (b"\x1b[A\x1bOB\x1b[C\x1b[1;5D", &[Key::Up, Key::Down, Key::Right, Key::Left]),
            (b"\x1b[H\x1b[4~\x1b[5~\x1b[6~", &[Key::Home, Key::End, Key::PageUp, Key::PageDown]),
            (b"\x1b[3~", &[Key::Delete]),
            (b"\x1bq", &[Key::Esc, Key::Char('q')]),
            (b"\x1b[200~two\nlines\x1b[201~x", &[Key::Pasted("two\nlines".into()), Key::Char('x')]),
            (b"\x1b[?1;2c\0\x1d", &[Key::Other, Key::Other, Key::Other]),
            (b"\xff\xc3a", &[Key::Other, Key::Other, Key::Char('a')]),
            (b"\x1b", &[]),
            (b"\x1b[1;", &[]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(keys(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_key_that_comes_in_parts_is_one_key() {
        for whole in ["\x1b[1;5D", "漢", "\x1b[200~pasted\x1b[201~", "\x1bOA"] {
            let expected = keys(whole.as_bytes());
            assert_eq!(expected.len(), 1, "{whole:?}");
            let mut parts = Keys::default();
            let mut found = Vec::new();
            for byte in whole.as_bytes() {
                parts.push(&[*byte]);
                found.extend(parts.next());
            }
            assert_eq!(found, expected, "{whole:?}");
            assert!(!parts.is_partial());
        }
    }

    #[test]
    fn what_nothing_follows_is_all_of_it() {
        let cases: [(&[u8], Option<Key>); 5] = [
            (b"", None),
            (b"\x1b", Some(Key::Esc)),
            (b"\x1b[", Some(Key::Other)),
            (b"\xe6\xbc", Some(Key::Other)),
            (b"\x1b[200~half", Some(Key::Pasted("half".into()))),
        ];
        for (bytes, expected) in cases {
            let mut keys = Keys::default();
            keys.push(bytes);
            assert_eq!(keys.next(), None);
            assert_eq!(keys.end(), expected, "{}", bytes.escape_ascii());
            assert!(!keys.is_partial());
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        assert_eq!(keys(&[b"\x1b[".as_slice(), &[b'1'; 40]].concat()), [Key::Other]);
        let endless = [PASTE_BEGINS, &vec![b'x'; PASTE_BYTES_MAX + 1]].concat();
        assert_eq!(keys(&endless), [Key::Pasted("x".repeat(PASTE_BYTES_MAX))]);
    }
}

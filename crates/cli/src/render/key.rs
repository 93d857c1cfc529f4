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
pub(crate) enum KeyPress {
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
pub(super) struct KeyDecoder {
    bytes: Vec<u8>,
}

/// The key and the number of bytes it took; `None` where more bytes are needed.
type DecodedKey = Option<(KeyPress, usize)>;

impl KeyDecoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns whether a key has begun and not ended. An Escape that is not followed by anything looks the
    /// same.
    pub(super) const fn is_partial(&self) -> bool {
        !self.bytes.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<KeyPress> {
        let (key, taken) = decode_key(&self.bytes)?;
        self.bytes.drain(..taken);
        Some(key)
    }

    /// Takes the remaining bytes as one key, because no more bytes came.
    pub(super) fn finish(&mut self) -> Option<KeyPress> {
        let bytes = std::mem::take(&mut self.bytes);
        match bytes.as_slice() {
            [] => None,
            [ESCAPE] => Some(KeyPress::Esc),
            bytes => Some(bytes.strip_prefix(PASTE_BEGINS).map_or(KeyPress::Other, paste_key)),
        }
    }
}

fn decode_key(bytes: &[u8]) -> DecodedKey {
    match bytes {
        [] | [ESCAPE] | [ESCAPE, b'O'] => None,
        [ESCAPE, b'[', rest @ ..] => decode_sequence(bytes, rest),
        [ESCAPE, b'O', letter, ..] => Some((decode_letter(*letter), 3)),
        // A key held with Alt: an Escape, then the key.
        [ESCAPE, ..] => Some((KeyPress::Esc, 1)),
        [b'\r' | b'\n', ..] => Some((KeyPress::Enter, 1)),
        [0x08 | 0x7f, ..] => Some((KeyPress::Backspace, 1)),
        [low @ 0x01..=0x1a, ..] => Some((KeyPress::Ctrl(char::from(low + b'a' - 1)), 1)),
        [low, ..] if low.is_ascii_control() => Some((KeyPress::Other, 1)),
        _ => decode_character(bytes),
    }
}

/// Decodes `ESC [`, some numbers and the final letter.
fn decode_sequence(bytes: &[u8], rest: &[u8]) -> DecodedKey {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let endless = rest.len() > SEQUENCE_BYTES_MAX;
        return endless.then_some((KeyPress::Other, bytes.len()));
    };
    if let Some(text) = bytes.strip_prefix(PASTE_BEGINS) {
        return decode_paste(text);
    }
    let number = rest[..end].split(|byte| *byte == b';').next().unwrap_or_default();
    let key = match (rest[end], number) {
        (b'~', b"1" | b"7") => KeyPress::Home,
        (b'~', b"4" | b"8") => KeyPress::End,
        (b'~', b"3") => KeyPress::Delete,
        (b'~', b"5") => KeyPress::PageUp,
        (b'~', b"6") => KeyPress::PageDown,
        (letter, _) => decode_letter(letter),
    };
    Some((key, end + 3))
}

const fn decode_letter(letter: u8) -> KeyPress {
    match letter {
        b'A' => KeyPress::Up,
        b'B' => KeyPress::Down,
        b'C' => KeyPress::Right,
        b'D' => KeyPress::Left,
        b'H' => KeyPress::Home,
        b'F' => KeyPress::End,
        b'M' => KeyPress::Enter,
        _ => KeyPress::Other,
    }
}

fn decode_paste(text: &[u8]) -> DecodedKey {
    let end = text.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS);
    match end {
        Some(end) => Some((paste_key(&text[..end]), PASTE_BEGINS.len() + end + PASTE_ENDS.len())),
        None if text.len() > PASTE_BYTES_MAX => {
            Some((paste_key(text), PASTE_BEGINS.len() + text.len()))
        }
        None => None,
    }
}

fn paste_key(text: &[u8]) -> KeyPress {
    let text = &text[..text.len().min(PASTE_BYTES_MAX)];
    KeyPress::Pasted(String::from_utf8_lossy(text).into_owned())
}

fn decode_character(bytes: &[u8]) -> DecodedKey {
    let some = &bytes[..bytes.len().min(4)];
    let (valid, broken) = match std::str::from_utf8(some) {
        Ok(text) => (text, false),
        Err(error) => {
            let text = std::str::from_utf8(&some[..error.valid_up_to()]).unwrap_or_default();
            (text, error.error_len().is_some())
        }
    };
    match valid.chars().next() {
        Some(c) => Some((KeyPress::Char(c), c.len_utf8())),
        None => broken.then_some((KeyPress::Other, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<KeyPress> {
        let mut keys = KeyDecoder::default();
        keys.push(bytes);
        std::iter::from_fn(|| keys.next()).collect()
    }

    #[test]
    fn each_key_is_read_from_its_bytes() {
        let cases: [(&[u8], &[KeyPress]); 14] = [
            (b"aQ", &[KeyPress::Char('a'), KeyPress::Char('Q')]),
            (
                "é漢🙂".as_bytes(),
                &[KeyPress::Char('é'), KeyPress::Char('漢'), KeyPress::Char('🙂')],
            ),
            (b"\r\n", &[KeyPress::Enter, KeyPress::Enter]),
            (b"\x7f\x08", &[KeyPress::Backspace, KeyPress::Backspace]),
            (b"\x03\x15\x1a", &[KeyPress::Ctrl('c'), KeyPress::Ctrl('u'), KeyPress::Ctrl('z')]),
            (
                b"\x1b[A\x1bOB\x1b[C\x1b[1;5D",
                &[KeyPress::Up, KeyPress::Down, KeyPress::Right, KeyPress::Left],
            ),
            (
                b"\x1b[H\x1b[4~\x1b[5~\x1b[6~",
                &[KeyPress::Home, KeyPress::End, KeyPress::PageUp, KeyPress::PageDown],
            ),
            (b"\x1b[3~", &[KeyPress::Delete]),
            (b"\x1bq", &[KeyPress::Esc, KeyPress::Char('q')]),
            (
                b"\x1b[200~two\nlines\x1b[201~x",
                &[KeyPress::Pasted("two\nlines".into()), KeyPress::Char('x')],
            ),
            (b"\x1b[?1;2c\0\x1d", &[KeyPress::Other, KeyPress::Other, KeyPress::Other]),
            (b"\xff\xc3a", &[KeyPress::Other, KeyPress::Other, KeyPress::Char('a')]),
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
            let mut parts = KeyDecoder::default();
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
        let cases: [(&[u8], Option<KeyPress>); 5] = [
            (b"", None),
            (b"\x1b", Some(KeyPress::Esc)),
            (b"\x1b[", Some(KeyPress::Other)),
            (b"\xe6\xbc", Some(KeyPress::Other)),
            (b"\x1b[200~half", Some(KeyPress::Pasted("half".into()))),
        ];
        for (bytes, expected) in cases {
            let mut keys = KeyDecoder::default();
            keys.push(bytes);
            assert_eq!(keys.next(), None);
            assert_eq!(keys.finish(), expected, "{}", bytes.escape_ascii());
            assert!(!keys.is_partial());
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        assert_eq!(keys(&[b"\x1b[".as_slice(), &[b'1'; 40]].concat()), [KeyPress::Other]);
        let endless = [PASTE_BEGINS, &vec![b'x'; PASTE_BYTES_MAX + 1]].concat();
        assert_eq!(keys(&endless), [KeyPress::Pasted("x".repeat(PASTE_BYTES_MAX))]);
    }
}

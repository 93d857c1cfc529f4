//! Hashing: many small pieces into a [`Digest`], in bounded memory, and changed lines folded so that white space
//! counts only where it has a meaning.
//!
//! Outside quotes, white space counts only if it separates two words; inside quotes its amount counts; at the
//! end of a line it never does. In a language with significant indentation, the indentation counts too. A
//! line may come in any number of chunks and may be of any length.

use serde::{Deserialize, Serialize};

use super::mask::is_word_byte;

/// A hash over the normalized change and the actions taken, by which the same approach is recognized again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Digest(pub u64);

/// Maximum size of the buffer before it is hashed: hashing byte by byte is slow, and buffering everything is
/// unbounded.
const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// Hashes a sequence of pieces. The boundaries between pieces do not matter.
#[derive(Clone, Debug, Default)]
pub(super) struct PieceHasher {
    gathered: Vec<u8>,
    hasher: blake3::Hasher,
}

impl PieceHasher {
    /// Creates a hasher for one `purpose`, so that equal bytes of different kinds have different digests.
    pub(super) fn for_purpose(purpose: &str) -> Self {
        let mut hasher = Self::default();
        hasher.push_text(purpose.as_bytes());
        hasher
    }

    pub(super) fn push_piece(&mut self, piece: &[u8]) {
        if self.gathered.len() + piece.len() > GATHERED_BYTES_MAX {
            self.hasher.update(&self.gathered);
            self.gathered.clear();
        }
        if piece.len() > GATHERED_BYTES_MAX {
            self.hasher.update(piece);
        } else {
            self.gathered.extend_from_slice(piece);
        }
    }

    /// Adds a text with its length, so that two consecutive texts cannot be confused with two others.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.push_number(text.len() as u64);
        self.push_piece(text);
    }

    pub(super) fn push_number(&mut self, number: u64) {
        self.push_piece(&number.to_le_bytes());
    }

    /// Returns the digest of all pieces so far and resets the hasher, keeping its memory.
    pub(super) fn take_digest(&mut self) -> Digest {
        self.hasher.update(&self.gathered);
        self.gathered.clear();
        let mut first = [0; 8];
        first.copy_from_slice(&self.hasher.finalize().as_bytes()[..8]);
        self.hasher.reset();
        Digest(u64::from_le_bytes(first))
    }
}

/// Suffixes of files with significant indentation.
const INDENTED_ENDINGS: &[&str] = &[
    ".py", ".pyi", ".yaml", ".yml", ".mk", "Makefile", ".haml", ".slim", ".pug", ".sass", ".styl",
    ".coffee", ".nim", ".fs", ".fsx", ".hs", ".elm", ".gd", ".rst",
];

/// Returns whether the indentation in the file at `path` is significant.
fn indentation_counts(path: &[u8]) -> bool {
    INDENTED_ENDINGS.iter().any(|ending| path.ends_with(ending.as_bytes()))
}

/// Folds and hashes one line after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct LineHasher {
    hasher: PieceHasher,
    indentation_counts: bool,
    /// Length of the white space read and not yet judged.
    gap: usize,
    last: Option<u8>,
    quote: Option<u8>,
    escaped: bool,
}

impl LineHasher {
    /// Creates a hasher for the lines of the file at `path`.
    pub(super) fn for_path(path: &[u8]) -> Self {
        Self { indentation_counts: indentation_counts(path), ..Self::default() }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        for &byte in chunk {
            if byte.is_ascii_whitespace() || byte == b'\x0b' {
                self.gap += 1;
                self.escaped = false;
            } else {
                self.close_gap(byte);
                self.hasher.push_piece(&[byte]);
                self.last = Some(byte);
                self.follow_quotes(byte);
            }
        }
    }

    /// Returns the line's digest, or `None` for a blank line, and starts the next line.
    pub(super) fn take_digest(&mut self) -> Option<Digest> {
        let blank = self.last.is_none();
        (self.gap, self.last, self.quote, self.escaped) = (0, None, None, false);
        let digest = self.hasher.take_digest();
        (!blank).then_some(digest)
    }

    fn close_gap(&mut self, next: u8) {
        let spaces = match self.last {
            None if self.indentation_counts => self.gap,
            None => 0,
            Some(_) if self.quote.is_some() => self.gap,
            Some(last) => usize::from(self.gap > 0 && is_word_byte(last) && is_word_byte(next)),
        };
        for _ in 0..spaces {
            self.hasher.push_piece(b" ");
        }
        self.gap = 0;
    }

    fn follow_quotes(&mut self, byte: u8) {
        if std::mem::take(&mut self.escaped) {
            return;
        }
        match (byte, self.quote) {
            (b'\\', _) => self.escaped = true,
            (b'"' | b'\'' | b'`', None) => self.quote = Some(byte),
            (_, Some(quote)) if quote == byte => self.quote = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn how_bytes_are_cut_into_pieces_makes_no_difference(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9_000), 0..8),
        ) {
            let mut cut = PieceHasher::default();
            for piece in &pieces {
                cut.push_piece(piece);
            }
            let mut whole = PieceHasher::default();
            whole.push_piece(&pieces.concat());
            prop_assert_eq!(cut.take_digest(), whole.take_digest());
        }
    }

    fn digest(path: &str, line: &str) -> Option<Digest> {
        let mut hasher = LineHasher::for_path(path.as_bytes());
        hasher.push(line.as_bytes());
        hasher.take_digest()
    }

    #[test]
    fn white_space_without_meaning_makes_no_difference() {
        let cases = [
            ("f( a,b )", "f(a, b)"),
            ("\tlet x = 1;", "    let x=1;"),
            ("return x  \r", "return x"),
            ("return   x", "return x"),
            ("don't   stop  ", "don't   stop"),
        ];
        for (one, other) in cases {
            assert_eq!(digest("a.rs", one), digest("a.rs", other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn white_space_with_meaning_makes_a_difference() {
        let cases = [
            ("a.rs", "return x", "returnx"),
            ("a.rs", r#"say("Hello,World")"#, r#"say("Hello, World")"#),
            ("a.py", "    return x", "        return x"),
            ("a.yml", "key: v", "  key: v"),
        ];
        for (path, one, other) in cases {
            assert_ne!(digest(path, one), digest(path, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_blank_line_has_no_digest() {
        assert_eq!(digest("a.py", " \t\r"), None);
        assert_eq!(digest("a.rs", ""), None);
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference_and_lines_do_not_leak_into_each_other(
            line in prop::collection::vec(any::<u8>(), 0..300),
            cut in 0_usize..300,
        ) {
            let mut whole = LineHasher::for_path(b"a.py");
            whole.push(&line);
            let mut cut_up = LineHasher::for_path(b"a.py");
            cut_up.push(b"an \"earlier line");
            cut_up.take_digest();
            let (head, tail) = line.split_at(cut.min(line.len()));
            cut_up.push(head);
            cut_up.push(tail);
            prop_assert_eq!(whole.take_digest(), cut_up.take_digest());
        }
    }
}

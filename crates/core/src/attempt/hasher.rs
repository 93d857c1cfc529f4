//! The one way this module hashes: many small pieces into a [`Digest`], in bounded memory.

use serde::{Deserialize, Serialize};

/// Recognises the same approach again: a hash over the normalised change and the actions taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Digest(pub u64);

/// Pieces are gathered up to this size before they are hashed, because hashing byte by byte is
/// slow and gathering everything is unbounded.
const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// Hashes a sequence of pieces. How the bytes are cut into pieces makes no difference.
#[derive(Clone, Debug, Default)]
pub(super) struct PieceHasher {
    gathered: Vec<u8>,
    hasher: blake3::Hasher,
}

impl PieceHasher {
    /// A hasher for one `purpose`, so that equal bytes of different things stay different.
    pub(super) fn of(purpose: &str) -> Self {
        let mut hasher = Self::default();
        hasher.text(purpose.as_bytes());
        hasher
    }

    pub(super) fn piece(&mut self, piece: &[u8]) {
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

    /// A text with its length, so that two texts in a row cannot be read as two others.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.piece(text);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.piece(&number.to_le_bytes());
    }

    /// The digest of all pieces so far. The hasher starts over, its memory is kept.
    pub(super) fn take(&mut self) -> Digest {
        self.hasher.update(&self.gathered);
        self.gathered.clear();
        let mut first = [0; 8];
        first.copy_from_slice(&self.hasher.finalize().as_bytes()[..8]);
        self.hasher.reset();
        Digest(u64::from_le_bytes(first))
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
                cut.piece(piece);
            }
            let mut whole = PieceHasher::default();
            whole.piece(&pieces.concat());
            prop_assert_eq!(cut.take(), whole.take());
        }
    }
}

//! The hashing of this module: many small pieces into a [`Digest`], in bounded memory.

use serde::{Deserialize, Serialize};

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
}

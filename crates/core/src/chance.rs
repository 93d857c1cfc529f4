//! Randomness as an argument: a small seeded generator.
//!
//! Decisions need it only to spread waits, so a repeatable stream matters and unpredictability does not.

use crate::time::Span;

/// A seeded stream of numbers (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates the stream of `seed`.
    pub const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates the stream of a decision: the same project and position always give the same numbers.
    pub fn for_decision(project: &str, seq: u64) -> Self {
        let seed = project.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed ^ seq.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a span from zero up to and including `most`.
    pub const fn up_to(&mut self, most: Span) -> Span {
        match most.as_millis().checked_add(1) {
            Some(choices) => Span::from_millis(self.next_u64() % choices),
            None => Span::from_millis(self.next_u64()),
        }
    }
}

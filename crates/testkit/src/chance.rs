//! Seeded randomness: a stream, and streams that belong to a named place.

use unstuck_core::engine::Rng;

/// A stream of draws.
#[derive(Clone, Debug)]
pub struct Chance(Rng);

impl Chance {
    /// Creates the stream of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(Rng::from_seed(seed))
    }

    /// Creates the stream of a place in the world: the same seed, names and number always draw the same.
    pub fn for_place(seed: u64, names: &[&str], number: u64) -> Self {
        let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in names.iter().flat_map(|name| name.bytes().chain([0xff])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut mixed = Rng::from_seed(hash ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(Rng::from_seed(mixed.next_u64()))
    }

    /// Returns a number below `most`, which must not be zero.
    pub const fn draw_below(&mut self, most: u64) -> u64 {
        self.0.next_u64() % most
    }

    /// Returns `true` once in `times` on average; never if that is zero.
    pub const fn one_in(&mut self, times: u64) -> bool {
        times > 0 && self.draw_below(times) == 0
    }

    /// Returns `true` in `share` percent of the draws.
    pub const fn draw_percent(&mut self, share: u64) -> bool {
        self.draw_below(100) < share
    }

    /// Returns one of `choices`; `None` for an empty list.
    pub fn pick_one<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        match choices.len() {
            0 => None,
            count => choices.get(self.draw_index(count)),
        }
    }

    /// Returns a position below `count`, which must not be zero.
    pub fn draw_index(&mut self, count: usize) -> usize {
        usize::try_from(self.draw_below(count as u64)).unwrap_or(0)
    }
}

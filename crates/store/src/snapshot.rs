//! Snapshots: the serialized state, so that opening need not replay the whole journal.
//!
//! The journal is authoritative, never a snapshot: an unreadable one is skipped. So is one whose seal does
//! not match: a flipped bit on disk would otherwise become a wrong name, limit or count.

use unstuck_core::engine::State;

/// Minimum size of the events since the last snapshot for which a new one is worthwhile.
const TAIL_BYTES_MIN: u64 = 1024 * 1024;

/// Share of the snapshot's size below which reading the tail takes no noticeable time.
const TAIL_SHARE_MAX: u64 = 8;

/// The prefix of a sealed snapshot; the digest of the rest follows, and then the rest.
const SEAL: &[u8] = b"blake3:";
/// The first byte of a snapshot from before seals existed.
const UNSEALED: u8 = b'{';

/// Serializes the state.
///
/// # Panics
///
/// If the state cannot be serialized, which its types rule out.
#[expect(
    clippy::expect_used,
    reason = "an empty snapshot could not be read, and its events may be deleted"
)]
pub fn serialize_snapshot(state: &State) -> Vec<u8> {
    let body = serde_json::to_vec(state)
        .expect("invariant: a state consists of maps with plain keys, which can be serialized");
    [SEAL, blake3::hash(&body).as_bytes(), &body].concat()
}

/// Deserializes a snapshot, if it is the one of `project` at `seq`.
pub(crate) fn deserialize_snapshot(bytes: &[u8], project: &str, seq: u64) -> Option<State> {
    let state: State = serde_json::from_slice(strip_seal(bytes)?).ok()?;
    (state.project() == project && state.seq() == seq).then_some(state)
}

/// Returns the sealed content, if it is unchanged.
fn strip_seal(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.first() == Some(&UNSEALED) {
        return Some(bytes);
    }
    let (digest, body) = bytes.strip_prefix(SEAL)?.split_first_chunk()?;
    (blake3::hash(body) == blake3::Hash::from_bytes(*digest)).then_some(body)
}

/// The size of the writes since the last snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalTail {
    events_bytes: u64,
    snapshot_bytes: u64,
}

impl JournalTail {
    /// Creates the tail after `events_bytes` of events since a snapshot of `snapshot_bytes`.
    pub const fn new(events_bytes: u64, snapshot_bytes: u64) -> Self {
        Self { events_bytes, snapshot_bytes }
    }

    /// Adds written events.
    pub const fn add_events(&mut self, events_bytes: u64) {
        self.events_bytes = self.events_bytes.saturating_add(events_bytes);
    }

    /// Resets the tail after a snapshot was written.
    pub const fn reset_to_snapshot(&mut self, snapshot_bytes: u64) {
        *self = Self::new(0, snapshot_bytes);
    }

    /// Returns whether a snapshot is due: reading the tail would take longer than reading a snapshot, and
    /// writing one costs no more than the events already did.
    pub fn is_due(self) -> bool {
        self.events_bytes > TAIL_BYTES_MIN.max(self.snapshot_bytes.saturating_mul(2))
    }

    /// Returns whether a final snapshot makes the next opening faster than reading the tail would be.
    pub const fn is_worth_closing(self) -> bool {
        self.events_bytes > self.snapshot_bytes / TAIL_SHARE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_due_when_the_tail_outweighs_it() {
        let mut tail = JournalTail::default();
        tail.add_events(TAIL_BYTES_MIN);
        assert!(!tail.is_due());
        tail.add_events(1);
        assert!(tail.is_due());
        tail.reset_to_snapshot(TAIL_BYTES_MIN);
        tail.add_events(2 * TAIL_BYTES_MIN);
        assert!(!tail.is_due());
        tail.add_events(1);
        assert!(tail.is_due());
    }

    #[test]
    fn a_snapshot_of_something_else_is_passed_over() {
        let state = State::new("one");
        let written = serialize_snapshot(&state);
        assert_eq!(deserialize_snapshot(&written, "one", 0), Some(state));
        assert_eq!(deserialize_snapshot(&written, "two", 0), None);
        assert_eq!(deserialize_snapshot(&written, "one", 1), None);
        assert_eq!(deserialize_snapshot(b"", "one", 0), None);
        assert_eq!(deserialize_snapshot(&written[1..], "one", 0), None);
    }

    #[test]
    fn a_snapshot_with_a_flipped_bit_is_passed_over() {
        let written = serialize_snapshot(&State::new("one"));
        for bit in 0..written.len() * 8 {
            let mut flipped = written.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(deserialize_snapshot(&flipped, "one", 0), None, "bit {bit}");
        }
    }

    #[test]
    fn a_snapshot_from_before_there_were_seals_is_read() {
        let state = State::new("one");
        assert_eq!(
            deserialize_snapshot(&serde_json::to_vec(&state).unwrap(), "one", 0),
            Some(state)
        );
    }
}

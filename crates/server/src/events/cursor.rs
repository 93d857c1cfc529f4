//! The position of a reader in the events.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Maximum length of a cursor, in bytes: no cursor that was given out is longer.
const CHARS_MAX: usize = 64 * 1_024;

/// The position of the last event that was read, in each project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventStreamCursor(BTreeMap<Arc<str>, u64>);

impl EventStreamCursor {
    /// Parses the position of a reader of one project: a plain number.
    pub(crate) fn parse_number(project: &Arc<str>, text: &str) -> Option<Self> {
        let seq = text.trim().parse().ok()?;
        Some(Self(BTreeMap::from([(Arc::clone(project), seq)])))
    }

    /// Parses the position of a reader of several projects, as [`text`](Self::text) wrote it.
    pub(crate) fn parse_opaque(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > CHARS_MAX {
            return None;
        }
        let decoded = URL_SAFE_NO_PAD.decode(text).ok()?;
        serde_json::from_slice(&decoded).ok().map(Self)
    }

    pub(crate) fn position_in(&self, project: &str) -> Option<u64> {
        self.0.get(project).copied()
    }

    pub(crate) fn set_position(&mut self, project: &Arc<str>, seq: u64) {
        match self.0.get_mut(project) {
            Some(at) => *at = seq,
            None => {
                self.0.insert(Arc::clone(project), seq);
            }
        }
    }

    /// Returns the opaque text for a reader of several projects.
    pub(crate) fn to_opaque(&self) -> String {
        let mut json = String::from("{");
        for (at, (project, seq)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let name = serde_json::Value::from(&**project);
            // Writing to a string cannot fail.
            let _ = write!(json, "{comma}{name}:{seq}");
        }
        json.push('}');
        URL_SAFE_NO_PAD.encode(json)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_read_again(
            seqs in proptest::collection::btree_map(".{0,12}", any::<u64>(), 0..4),
        ) {
            let seqs = seqs.into_iter().map(|(name, seq)| (Arc::from(name), seq)).collect();
            let cursor = EventStreamCursor(seqs);
            prop_assert_eq!(EventStreamCursor::parse_opaque(&cursor.to_opaque()), Some(cursor));
        }

        #[test]
        fn nonsense_is_no_cursor_and_no_panic(text in ".{0,64}") {
            let project: Arc<str> = Arc::from("shop");
            let _ = EventStreamCursor::parse_opaque(&text);
            let number = text.trim().parse::<u64>().ok();
            prop_assert_eq!(EventStreamCursor::parse_number(&project, &text).and_then(|at| at.position_in("shop")), number);
        }
    }
}

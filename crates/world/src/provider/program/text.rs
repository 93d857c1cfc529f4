//! Bounds on what a program says and does before it goes any further.

use std::collections::HashSet;

use crate::process::Kept;

/// The longest text of one activity: 256 of them may wait at a time.
const TEXT_BYTES_MAX: usize = 64 * 1_024;
/// The longest input of a tool. A whole file may be one.
pub(in crate::provider) const INPUT_BYTES_MAX: usize = 1_024 * 1_024;
/// How many calls are remembered as running. No agent has that many.
const CALLS_MAX: usize = 1_024;

/// The first bytes of a text, cut where a character ends.
pub(in crate::provider) fn clip(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

/// A text for an activity: its beginning and its end.
pub(in crate::provider) fn shown(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let mut kept = Kept::within(TEXT_BYTES_MAX);
    kept.push(text.as_bytes());
    String::from_utf8_lossy(&kept.to_bytes()).into_owned()
}

/// The calls of tools that have not returned.
#[derive(Debug, Default)]
pub(in crate::provider) struct Calls(HashSet<String>);

impl Calls {
    pub(in crate::provider) fn began(&mut self, call: &str) {
        if self.0.len() < CALLS_MAX {
            self.0.insert(call.to_owned());
        }
    }

    /// Takes note that a call returned; whether it was known to run.
    pub(in crate::provider) fn returned(&mut self, call: &str) -> bool {
        self.0.remove(call)
    }

    pub(in crate::provider) fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

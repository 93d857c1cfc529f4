//! Limits on texts and calls of a program before they are passed on.

use std::collections::HashSet;

use crate::process::Kept;

/// Maximum length of an activity's text in bytes; 256 of them may be queued.
const TEXT_BYTES_MAX: usize = 64 * 1_024;
/// Maximum length of a tool's input in bytes, which may be a whole file.
pub(in crate::provider) const INPUT_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum number of calls that are tracked as running. No agent has that many.
const CALLS_MAX: usize = 1_024;

/// Returns the beginning of a text, cut at a character boundary.
pub(in crate::provider) fn clip(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

/// Returns a text for an activity: its beginning and its end.
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

    /// Records that a call returned, and returns whether it was known to run.
    pub(in crate::provider) fn returned(&mut self, call: &str) -> bool {
        self.0.remove(call)
    }

    pub(in crate::provider) fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

//! Limits on texts and calls of a program before they are passed on.

use std::collections::HashSet;

use crate::process::OutputExcerpt;

/// Maximum length of an activity's text in bytes; 256 of them may be queued.
const TEXT_BYTES_MAX: usize = 64 * 1_024;
/// Maximum length of a tool's input in bytes, which may be a whole file.
pub(in crate::provider) const INPUT_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum number of calls that are tracked as running. No agent has that many.
const CALLS_MAX: usize = 1_024;

/// Returns the beginning of a text, cut at a character boundary.
pub(in crate::provider) fn clip_text(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

/// Returns a text for an activity: its beginning and its end.
pub(in crate::provider) fn shorten_middle(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let mut kept = OutputExcerpt::with_limit(TEXT_BYTES_MAX);
    kept.push(text.as_bytes());
    String::from_utf8_lossy(&kept.to_bytes()).into_owned()
}

/// The calls of tools that have not returned.
#[derive(Debug, Default)]
pub(in crate::provider) struct RunningCalls(HashSet<String>);

impl RunningCalls {
    pub(in crate::provider) fn mark_started(&mut self, call: &str) {
        if self.0.len() < CALLS_MAX {
            self.0.insert(call.to_owned());
        }
    }

    /// Records that a call returned, and returns whether it was known to run.
    pub(in crate::provider) fn mark_returned(&mut self, call: &str) -> bool {
        self.0.remove(call)
    }

    pub(in crate::provider) fn has_running(&self) -> bool {
        !self.0.is_empty()
    }
}

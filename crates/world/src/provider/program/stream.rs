//! The stream of a program: its lines, its texts and calls within limits, and its usage.

use std::collections::HashSet;

use memchr::memchr;
use unstuck_core::attempt::ToolKind;

use crate::agent::{Denial, Usage};
use crate::process::OutputExcerpt;

/// Maximum length of a line in bytes. A longer one is skipped: no line of interest is that long,
/// and a program may write anything.
pub const LINE_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// Splits a stream that arrives in chunks of any size into lines, buffering at most one line.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The received part of an incomplete line.
    begun: Vec<u8>,
    /// `true` if that line is being skipped.
    skipping: bool,
}

impl LineSplitter {
    /// Takes the next chunk and calls `each` with every line that it completes.
    pub fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', chunk) {
            let line = &chunk[..end];
            let rest = &chunk[end + 1..];
            chunk = rest;
            if self.begun.is_empty() && !self.skipping {
                each(line);
                continue;
            }
            self.buffer_bytes(line);
            self.emit_line(&mut each);
        }
        self.buffer_bytes(chunk);
    }

    /// Ends the stream: the remainder is its last line.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.begun.is_empty() {
            self.emit_line(&mut each);
        }
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) {
        if self.begun.len() + bytes.len() > LINE_BYTES_MAX {
            self.skipping = true;
            self.begun = Vec::new();
        }
        if !self.skipping {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn emit_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.begun);
        if !std::mem::take(&mut self.skipping) {
            each(&line);
        }
    }
}

/// Maximum length of an activity's text in bytes; 256 of them may be queued.
const TEXT_BYTES_MAX: usize = 64 * 1_024;
/// Maximum length of a tool's input in bytes, which may be a whole file.
pub(in crate::provider) const INPUT_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum number of calls that are tracked as running. No agent has that many.
const CALLS_MAX: usize = 1_024;

/// Maximum number of reported denials: further ones repeat the same actions.
pub(in crate::provider) const DENIALS_MAX: usize = 100;
/// Maximum number of bytes of a command in a denial.
pub(in crate::provider) const WHAT_BYTES_MAX: usize = 1_024;

/// Returns a denial of `what`, limited in length.
pub(in crate::provider) fn clip_denial(tool: ToolKind, what: &str) -> Denial {
    Denial { tool, what: clip_text(what, WHAT_BYTES_MAX) }
}

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

/// Returns the tokens of `total` minus those of `before`, without a cost.
pub(in crate::provider) const fn subtract_usage(total: Usage, before: Usage) -> Usage {
    Usage {
        input_tokens: total.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: total.output_tokens.saturating_sub(before.output_tokens),
        cached_tokens: total.cached_tokens.saturating_sub(before.cached_tokens),
        cache_written_tokens: total
            .cache_written_tokens
            .saturating_sub(before.cache_written_tokens),
        money_micros: None,
        unmeasured_calls: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
        let mut reader = LineSplitter::default();
        let mut found = Vec::new();
        for chunk in chunks {
            reader.push(&chunk, |line| found.push(line.to_vec()));
        }
        reader.finish(|line| found.push(line.to_vec()));
        found
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let text = b"one\n\ntwo three\nfour".to_vec();
        let whole = lines([text.clone()]);
        assert_eq!(whole, [b"one".to_vec(), b"".to_vec(), b"two three".to_vec(), b"four".to_vec()]);
        for size in 1..text.len() {
            assert_eq!(lines(text.chunks(size).map(<[u8]>::to_vec)), whole, "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_and_the_next_one_is_read() {
        const MEGABYTE: usize = 1 << 20;
        let mut reader = LineSplitter::default();
        let mut found = Vec::new();
        for _ in 0..100 {
            reader.push(&vec![b'x'; MEGABYTE], |_| panic!("a line"));
            assert!(reader.begun.capacity() <= 2 * LINE_BYTES_MAX);
        }
        assert_eq!(reader.begun.capacity(), 0);
        reader.push(b"xx\nnext\n", |line| found.push(line.to_vec()));
        assert_eq!(found, [b"next".to_vec()]);
    }
}

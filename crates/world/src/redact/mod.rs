//! The single place that removes secrets from everything that leaves Unstuck: logs, records,
//! prompts, notifications, pages.
//!
//! It searches line by line for two things: values that are known to be secret, in plain form and
//! as they look in base64, in a URL and in JSON; and text in the shape of a secret, regardless of
//! its origin (`shapes`). Each match becomes `[redacted]` or `[redacted:kind]`. A second pass over
//! the same text finds nothing more. Text that comes in chunks is redacted line by line as well, so
//! that a secret across two chunks is found, and so that each line is shown when it ends.

mod files;
mod forms;
mod shapes;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Minimum length of a secret value, in bytes: shorter ones are words, ports and version numbers as
/// well.
pub const VALUE_BYTES_MIN: usize = 8;

/// Maximum length of a line, in bytes; a longer one is processed in parts.
const LINE_BYTES_MAX: usize = 64 * 1_024;
/// Number of bytes of such a line that are held back for its next part; shapes are hardly ever
/// longer.
const KEPT_BYTES: usize = 8 * 1_024;
/// Maximum length of a private key, in lines.
const KEY_LINES_MAX: u32 = 256;

/// A search for secrets in text, which replaces them.
#[derive(Default)]
pub struct Redactor {
    values: Option<AhoCorasick>,
    /// For each form, whether it is base64: adjacent characters are then part of it.
    base64: Vec<bool>,
    longest: usize,
}

/// Omits the values.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.base64.len()).finish_non_exhaustive()
    }
}

/// A range that has to be replaced, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SecretMatch {
    range: Range<usize>,
    kind: Option<&'static str>,
}

impl Redactor {
    /// Makes a redactor for `secrets` and for the known shapes.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let forms = forms::list_forms(secrets);
        let longest = forms.iter().map(|form| form.text.len()).max().unwrap_or(0);
        let base64 = forms.iter().map(|form| form.base64).collect();
        // This kind is faster to build than a full table, and each command of Unstuck builds one.
        let mut automaton = AhoCorasick::builder();
        automaton.kind(Some(AhoCorasickKind::ContiguousNFA));
        // With no values, or more than an automaton can hold, the shapes remain.
        let values = automaton.build(forms.iter().map(|form| form.text.as_bytes())).ok();
        Self { values: values.filter(|_| !forms.is_empty()), base64, longest }
    }

    /// Returns the text without its secrets.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Every cut is beside an ASCII character or at the edge of a whole value.
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    /// Returns the bytes without their secrets.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let plain = !shapes::has_anchor(bytes)
            && !self.values.as_ref().is_some_and(|values| values.is_match(bytes));
        if plain {
            return Cow::Borrowed(bytes);
        }
        let mut stream = self.start_stream();
        let mut clean = stream.push(bytes);
        clean.extend(stream.finish());
        if clean == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(clean) }
    }

    /// Returns the kind of a certain secret in a line: that of a key, or `value` for a known value.
    pub fn find_secret_kind(&self, line: &[u8]) -> Option<&'static str> {
        let known = || self.values.as_ref().is_some_and(|values| values.is_match(line));
        shapes::find_key_kind(line).or_else(|| known().then_some("value"))
    }

    /// Returns a stream for text that comes in chunks.
    pub fn start_stream(&self) -> RedactionStream<'_> {
        RedactionStream { redactor: self, pending: Vec::new(), key_lines: 0 }
    }

    /// Redacts one line: known values first, so that no shape ends within one; then shapes, in the
    /// rest. Returns whether a private key continues after it.
    fn redact_line(&self, line: &[u8], into: &mut Vec<u8>) -> bool {
        let values = self.find_known(line);
        let mut rest = Cow::Borrowed(line);
        if !values.is_empty() {
            rest = Cow::Owned(replace_matches(line, &values));
        }
        let mut open = false;
        // A marker can complete another shape around it; each round leaves less to find.
        loop {
            let found = shapes::find_shapes(&rest);
            if found.is_empty() {
                into.extend_from_slice(&rest);
                return open;
            }
            open |= shapes::opens_key(&rest, &found);
            rest = Cow::Owned(replace_matches(&rest, &found));
        }
    }

    /// Returns the known values in a line, in order; merges overlapping ones.
    fn find_known(&self, line: &[u8]) -> Vec<SecretMatch> {
        let mut found: Vec<SecretMatch> = Vec::new();
        let Some(values) = &self.values else { return found };
        for hit in values.find_overlapping_iter(line) {
            let base64 = self.base64[hit.pattern().as_usize()];
            let range = if base64 { widen_to_base64(line, hit.range()) } else { hit.range() };
            found.push(SecretMatch { range, kind: None });
        }
        found.sort_by_key(|found| found.range.start);
        found.dedup_by(|next, last| {
            let overlap = next.range.start < last.range.end;
            if overlap {
                last.range.end = last.range.end.max(next.range.end);
            }
            overlap
        });
        found
    }

    /// Returns the position nearest before `wanted` at which a line can be cut without cutting a
    /// secret, or the nearest after it if there is none.
    fn find_cut(&self, line: &[u8], wanted: usize) -> usize {
        let mut found = self.find_known(line);
        found.extend(shapes::find_shapes(line));
        found.sort_by_key(|found| std::cmp::Reverse(found.range.start));
        let mut cut = wanted;
        for SecretMatch { range, .. } in &found {
            if range.start < cut && cut < range.end {
                cut = range.start;
            }
        }
        if cut > 0 {
            cut
        } else {
            found.iter().map(|found| found.range.end).max().unwrap_or(wanted)
        }
    }
}

/// A redaction in progress.
#[derive(Debug)]
pub struct RedactionStream<'r> {
    redactor: &'r Redactor,
    /// The line that has not ended yet.
    pending: Vec<u8>,
    /// Number of further lines that may belong to a private key that has begun.
    key_lines: u32,
}

impl RedactionStream<'_> {
    /// Takes in the next chunk and returns the output that can no longer change.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(piece.len());
        let mut rest = piece;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at + 1);
            if self.pending.is_empty() {
                self.redact_line(line, &mut clean);
            } else {
                self.pending.extend_from_slice(line);
                let line = std::mem::take(&mut self.pending);
                self.redact_line(&line, &mut clean);
            }
            rest = after;
        }
        self.pending.extend_from_slice(rest);
        if self.pending.len() > LINE_BYTES_MAX + self.kept_bytes() {
            self.redact_part(&mut clean);
        }
        clean
    }

    /// Returns the rest of the output at the end of the text.
    pub fn finish(mut self) -> Vec<u8> {
        let mut clean = Vec::new();
        let line = std::mem::take(&mut self.pending);
        if !line.is_empty() {
            self.redact_line(&line, &mut clean);
        }
        clean
    }

    fn kept_bytes(&self) -> usize {
        KEPT_BYTES.max(self.redactor.longest)
    }

    /// Redacts one line, with its line end if it has one.
    fn redact_line(&mut self, line: &[u8], clean: &mut Vec<u8>) {
        let rest = if self.key_lines > 0 { self.skip_key_body(line) } else { line };
        if self.redactor.redact_line(rest, clean) {
            self.key_lines = KEY_LINES_MAX;
        }
    }

    /// Returns the part of a line that does not belong to the private key that began before it.
    fn skip_key_body<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        self.key_lines -= 1;
        if let Some(at) = memchr::memmem::find(line, b"-----END ") {
            self.key_lines = 0;
            let tail = &line[at + 9..];
            let close = memchr::memmem::find(tail, b"-----").map_or(0, |close| close + 5);
            let after = &tail[close..];
            return if after == b"\n" { &[] } else { after };
        }
        // A key in a diff, a quotation or a listing has signs before its lines.
        let signs = |byte: &u8| byte.is_ascii_whitespace() || b"+->|\"',".contains(byte);
        let from = line.iter().position(|byte| !signs(byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !signs(byte)).map_or(from, |last| last + 1);
        let is_header = memchr::memmem::find(line, b"Proc-Type:").is_some()
            || memchr::memmem::find(line, b"DEK-Info:").is_some();
        if is_header || line[from..end].iter().all(|byte| shapes::is_key_body(*byte)) {
            return &[];
        }
        self.key_lines = 0;
        line
    }

    /// Redacts the first part of a line that does not end.
    fn redact_part(&mut self, clean: &mut Vec<u8>) {
        let cut = self.redactor.find_cut(&self.pending, self.pending.len() - self.kept_bytes());
        let rest = self.pending.split_off(cut);
        let part = std::mem::replace(&mut self.pending, rest);
        self.redact_line(&part, clean);
    }
}

/// Extends a range to the whole run of base64 around it.
fn widen_to_base64(line: &[u8], range: Range<usize>) -> Range<usize> {
    let inside = |byte: &u8| forms::is_base64(*byte);
    let before = line[..range.start].iter().rev().take_while(|byte| inside(byte)).count();
    let after = line[range.end..].iter().take_while(|byte| inside(byte)).count();
    range.start - before..range.end + after
}

fn replace_matches(text: &[u8], found: &[SecretMatch]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len());
    let mut at = 0;
    for SecretMatch { range, kind } in found {
        replaced.extend_from_slice(&text[at..range.start]);
        replaced.extend_from_slice(b"[redacted");
        if let Some(kind) = kind {
            replaced.push(b':');
            replaced.extend_from_slice(kind.as_bytes());
        }
        replaced.push(b']');
        at = range.end;
    }
    replaced.extend_from_slice(&text[at..]);
    replaced
}

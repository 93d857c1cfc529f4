//! Redaction of text that comes in chunks: line by line, so that a secret across two chunks is
//! found, and so that each line is shown when it ends.

use super::Redactor;
use super::shapes::is_key_body;

/// Maximum length of a line, in bytes; a longer one is processed in parts.
const LINE_BYTES_MAX: usize = 64 * 1_024;
/// Number of bytes of such a line that are held back for its next part; shapes are hardly ever
/// longer.
const KEPT_BYTES: usize = 8 * 1_024;
/// Maximum length of a private key, in lines.
const KEY_LINES_MAX: u32 = 256;

/// A redaction in progress.
#[derive(Debug)]
pub struct RedactionStream<'r> {
    redactor: &'r Redactor,
    /// The line that has not ended yet.
    pending: Vec<u8>,
    /// Number of further lines that may belong to a private key that has begun.
    key_lines: u32,
}

impl<'r> RedactionStream<'r> {
    pub(super) const fn new(redactor: &'r Redactor) -> Self {
        Self { redactor, pending: Vec::new(), key_lines: 0 }
    }

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
        if is_header || line[from..end].iter().all(|byte| is_key_body(*byte)) {
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

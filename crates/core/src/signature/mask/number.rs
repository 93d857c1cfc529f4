//! Numbers: masked, unless the words around them give them a meaning.

use super::words::{
    introduces_status, is_reason_phrase, is_sql_state, is_word, parse_small_number,
};
use super::{EPHEMERAL_PORT_MIN, Fact, MaskingPass};

impl<'a> MaskingPass<'a, '_> {
    /// Writes a number. A plain one is masked; a status, an exit code, an error number or a port is kept.
    pub(super) fn write_number(&mut self, token: &'a [u8], end: usize) {
        let kept = self.record_number_fact(token, end);
        if kept {
            self.out.text.extend_from_slice(token);
        } else {
            self.write_byte(b'#');
        }
        self.write_prose_mark(b'#');
        self.remember_word(token);
    }

    pub(super) fn record_number_fact(&mut self, token: &'a [u8], end: usize) -> bool {
        let (negative, digits) = match token {
            [b'-', digits @ ..] => (true, digits),
            _ => (false, token),
        };
        let Some(value) = parse_small_number(digits) else { return false };
        let after = self.line[end..].trim_ascii_start();
        let is = |word: &[u8]| is_word(self.previous, word);
        if is(b"errno") || (is(b"error") && is_word(self.before, b"os")) {
            // Name lookup counts down from zero; other programs print the plain numbers negated.
            let lookup = negative && self.previous[0] == b'E';
            let value = i32::try_from(value).unwrap_or(0);
            self.out.facts.push(Fact::Errno(if lookup { -value } else { value }));
            return true;
        }
        if is_sql_state(token) && is_word(self.previous, b"sqlstate")
            || self.is_bracketed_state(token, end)
        {
            self.out.facts.push(Fact::SqlState(token));
            return true;
        }
        let is_status = token.len() == 3 && (400..600).contains(&value);
        let answered = is(b"with")
            && [b"responded".as_slice(), b"answered", b"replied", b"failed"]
                .iter()
                .any(|word| is_word(self.before, word));
        let answered = answered || after.starts_with(b"from http");
        if is_status
            && (answered || introduces_status(self.previous, after) || is_reason_phrase(after))
        {
            self.out.facts.push(Fact::Status(value));
            return true;
        }
        if self.is_own_number(end - token.len(), end) {
            self.out.facts.push(Fact::Numbered(value));
            return true;
        }
        if is(b"port") {
            return value < EPHEMERAL_PORT_MIN;
        }
        if is(b"signal") {
            self.out.facts.push(Fact::Signal(value));
            return true;
        }
        let ended = is(b"exit")
            || is(b"status")
            || is(b"code")
            || is(b"exitcode")
            || is(b"rc")
            || (is(b"value") && is_word(self.before, b"exit"))
            || (is(b"with") && is_word(self.before, b"exited"));
        if ended && !is_status {
            self.out.facts.push(Fact::Exit(value));
            return true;
        }
        ended
            || (is(b"error")
                && self.quote.is_none()
                && !after.first().is_some_and(u8::is_ascii_alphabetic))
    }

    /// Returns whether a number is in parentheses directly after the program's name: `curl: (7) text`.
    pub(super) fn is_own_number(&self, start: usize, end: usize) -> bool {
        self.line[end..].starts_with(b") ")
            && self.line[..start].ends_with(b": (")
            && !self.line[..start].contains(&b' ')
                | (memchr::memchr(b' ', self.line) == Some(start - 2))
    }

    /// Returns whether a SQL state is in parentheses: `ERROR 1045 (28000): …`.
    pub(super) fn is_bracketed_state(&self, token: &[u8], end: usize) -> bool {
        token.len() == 5
            && end > 5
            && self.line[end - 6] == b'('
            && self.line[end..].starts_with(b"):")
            && is_word(self.before, b"error")
    }
}

//! Quotations: their end, their subject, and whether they contain the tool's own message.

use super::{Fact, MaskingPass, QUOTED};
use crate::signature::has_negation;

impl MaskingPass<'_, '_> {
    pub(super) fn open_quote(&mut self) {
        let mark = self.line[self.at];
        let close = find_closing_quote(self.line, self.at, mark);
        self.write_byte(b'\'');
        if let Some(close) = close {
            let speech = (self.is_value()
                && (is_speech_key(self.previous) || self.is_message(close)))
                || self.is_sentence(close);
            // `id: '…'` without a digit is a message of the program `id`.
            let has_digit = || self.line[self.at..close].iter().any(u8::is_ascii_digit);
            if self.is_value() && is_id_key(self.previous) && has_digit() {
                self.write_byte(b'#');
                self.at = close;
                self.quote = Some((close, false));
                return;
            }
            if !speech {
                self.write_prose_mark(QUOTED);
            }
            if self.is_value() && is_code_key(self.previous) {
                self.out.facts.push(Fact::Class(&self.line[self.at + 1..close]));
            }
            self.quote = Some((close, speech));
        }
        self.at += 1;
    }

    /// Returns whether a value begins here: `key: …` or `key=…`.
    pub(super) fn is_value(&self) -> bool {
        let before = self.line[..self.at].trim_ascii_end();
        matches!(before.last(), Some(b':' | b'='))
    }

    /// Returns whether the quotation up to `close` is the whole message: several words after a colon.
    pub(super) fn is_message(&self, close: usize) -> bool {
        const WORDS_MIN: usize = 2;
        let quoted = &self.line[self.at + 1..close];
        close + 1 == self.line.len() && memchr::memchr_iter(b' ', quoted).count() >= WORDS_MIN
    }

    /// Returns whether the quotation up to `close` is a whole sentence, which one program passes on from
    /// another.
    fn is_sentence(&self, close: usize) -> bool {
        const GAPS_MIN: usize = 4;
        let quoted = &self.line[self.at + 1..close];
        quoted.first().is_some_and(u8::is_ascii_uppercase)
            && memchr::memchr_iter(b' ', quoted).count() >= GAPS_MIN
            && has_negation(quoted)
    }

    /// Skips a given value, which varies, up to the next key: `input_value={'a': 1}, input_type=dict`.
    pub(super) fn skip_given_value(&mut self) -> bool {
        if !self.previous.ends_with(b"_value") {
            return false;
        }
        let rest = &self.line[self.at..];
        let next_key = |at: &usize| {
            let key = &rest[at + 2..];
            let len = key.iter().take_while(|b| b.is_ascii_lowercase() || **b == b'_').count();
            len > 0 && key.get(len) == Some(&b'=')
        };
        let closing = memchr::memrchr(b']', rest).unwrap_or(rest.len());
        let end = memchr::memmem::find_iter(rest, b", ").find(next_key).unwrap_or(closing);
        self.out.text.extend_from_slice(b"=#");
        self.at += end;
        true
    }

    /// Writes the items of a set such as `{'b', 'a'}` sorted, because a set has no order.
    pub(super) fn write_sorted_set(&mut self) -> bool {
        let line = self.line;
        let rest = &line[self.at + 1..];
        let Some(len) = memchr::memchr(b'}', rest) else { return false };
        let body = &rest[..len];
        if memchr::memmem::find(body, b", ").is_none() {
            return false;
        }
        let mut items: Vec<&[u8]> = body.split(|b| *b == b',').map(<[u8]>::trim_ascii).collect();
        let quoted = |item: &&[u8]| {
            matches!(item, [b'\'', .., b'\''] | [b'"', .., b'"']) && !item.contains(&b':')
        };
        if !items.iter().all(quoted) {
            return false;
        }
        items.sort_unstable();
        self.write_byte(b'{');
        for item in items {
            self.out.text.extend_from_slice(item);
            self.write_byte(b',');
        }
        self.at += 1 + len;
        true
    }
}

/// Returns the end of the quotation opened at `open`. A mark inside a word is an apostrophe.
fn find_closing_quote(line: &[u8], open: usize, mark: u8) -> Option<usize> {
    if open > 0 && line[open - 1].is_ascii_alphanumeric() {
        return None;
    }
    let ends = |at: usize| !line.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    let find = |mark: u8| {
        memchr::memchr_iter(mark, &line[open + 1..]).map(|at| open + 1 + at).find(|at| ends(*at))
    };
    match mark {
        // Old tools quote `like this'.
        b'`' => find(b'`').or_else(|| find(b'\'')),
        mark => find(mark),
    }
}

/// Returns whether the value of a key is the tool's message.
fn is_speech_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"message", b"error", b"msg", b"detail", b"details", b"description", b"error_description",
        b"reason", b"err", b"cause", b"title", b"errors", b"error_message", b"errormessage",
    ];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Returns whether the value of a key names a single request.
pub(super) fn is_id_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"request_id", b"requestid", b"request-id", b"trace_id", b"traceid", b"id", b"ray",
        b"correlation_id", b"correlationid", b"x-request-id", b"activityid", b"timestamp", b"time",
    ];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Returns whether the value of a key is an error type.
fn is_code_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] =
        &[b"code", b"type", b"reason", b"error", b"status", b"errorcode", b"name"];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

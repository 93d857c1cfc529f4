//! Masking: replaces parts that vary without meaning and keeps those that identify, in one pass over a line.
//!
//! The same pass writes the prose of the line (lower case, outside quotes, objects replaced by a placeholder)
//! and records the structured facts, for the text rules.

mod object;
mod quote;
mod words;

use super::place;
use super::role::is_exception_class;
use super::token::{self, TokenShape};
use super::words::is_telling;
use quote::is_id_key;
use words::{
    call_len, ends_token, is_camel_case, is_capitals, is_delimiter, is_sql_state, is_word,
    speaks_of_line, strip_suggestion, word_before_path,
};

/// The placeholder for a path, an address or an identifier in prose.
pub(crate) const OBJECT: u8 = b'~';

/// The placeholder for quoted words in prose.
pub(crate) const QUOTED: u8 = b'\'';

/// The lowest port that is assigned at random.
const EPHEMERAL_PORT_MIN: u32 = 32_768;

/// A structured fact on a kept line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact<'a> {
    /// An HTTP status.
    Status(u32),
    /// A system error number. Name lookup has negative ones.
    Errno(i32),
    /// The exit code of a process.
    Exit(u32),
    /// The signal that ended a process.
    Signal(u32),
    /// A name in capitals: `ECONNREFUSED`, `SIGSEGV`, `PERMISSION_DENIED`.
    Name(&'a [u8]),
    /// The number that a program gives its error before the text: `curl: (7) …`.
    Numbered(u32),
    /// A five-character SQL state.
    SqlState(&'a [u8]),
    /// A class or error type in class position.
    Class(&'a [u8]),
}

/// The result of masking: masked text, prose and facts of the lines.
pub(crate) struct MaskedText<'a> {
    /// The masked lines, each terminated by a newline.
    pub(crate) text: Vec<u8>,
    /// The prose of the lines, each terminated by a newline.
    pub(crate) prose: Vec<u8>,
    /// `true` if the prose is needed; it is not for a finding.
    wants_prose: bool,
    /// The facts, in order.
    pub(crate) facts: Vec<Fact<'a>>,
}

struct MaskingPass<'a, 'm> {
    line: &'a [u8],
    at: usize,
    /// The end of the open quotation, and whether its content is the tool's own message.
    quote: Option<(usize, bool)>,
    /// The end of the call being read, whose arguments are not prose.
    call_end: usize,
    /// `true` if the line mentions a line number.
    numbered: bool,
    previous: &'a [u8],
    before: &'a [u8],
    out: &'m mut MaskedText<'a>,
}

impl<'a> MaskedText<'a> {
    /// Creates an empty result with capacity for a usual diagnosis.
    pub(crate) fn new(wants_prose: bool) -> Self {
        const BYTES: usize = 512;
        Self {
            text: Vec::with_capacity(BYTES),
            prose: Vec::with_capacity(if wants_prose { BYTES } else { 0 }),
            wants_prose,
            facts: Vec::with_capacity(8),
        }
    }

    pub(crate) fn add_line(&mut self, line: &'a [u8]) {
        let line = strip_suggestion(line);
        let mut pass = MaskingPass {
            line,
            at: 0,
            quote: None,
            call_end: 0,
            numbered: speaks_of_line(line),
            previous: b"",
            before: b"",
            out: self,
        };
        pass.mask_until(line.len());
        self.text.truncate(self.text.trim_ascii_end().len());
        self.text.push(b'\n');
        if self.wants_prose {
            self.prose.push(b'\n');
        }
    }
}

impl<'a> MaskingPass<'a, '_> {
    fn mask_until(&mut self, end: usize) {
        while self.at < end {
            if self.quote.is_some_and(|(close, _)| self.at >= close) {
                self.quote = None;
                self.write_byte(b'\'');
                self.at += 1;
                continue;
            }
            let byte = self.line[self.at];
            match byte {
                b if b.is_ascii_whitespace() => self.write_space(),
                b'"' | b'`' | b'\'' if self.quote.is_none() => self.open_quote(),
                b'{' if self.write_sorted_set() => {}
                b'=' if self.skip_given_value() => {}
                // `"status":402`: a value after a key is written on its own.
                b':' if self.at > 0 && self.line[self.at - 1] == b'"' => {
                    self.write_byte(byte);
                    self.at += 1;
                }
                b if is_delimiter(b) => {
                    self.write_byte(b);
                    self.at += 1;
                }
                _ => self.read_token(end),
            }
        }
        if self.quote.take().is_some() {
            self.write_byte(b'\'');
            self.at += 1;
        }
    }

    fn write_byte(&mut self, byte: u8) {
        self.out.text.push(byte);
    }

    fn write_space(&mut self) {
        if !matches!(self.out.text.last(), Some(b' ' | b'\n') | None) {
            self.write_byte(b' ');
        }
        self.at += 1;
    }

    /// Returns whether the current token counts as prose.
    fn is_in_prose(&self) -> bool {
        self.out.wants_prose
            && self.at >= self.call_end
            && self.quote.is_none_or(|(_, speech)| speech)
    }

    fn write_prose_mark(&mut self, byte: u8) {
        if self.is_in_prose() {
            self.out.prose.extend_from_slice(&[byte, b' ']);
        }
    }

    fn read_token(&mut self, end: usize) {
        let line = self.line;
        let limit = self.quote.map_or(end, |(close, _)| close.min(end));
        let start = self.at;
        let len = line[start..limit].iter().position(|b| ends_token(*b));
        let stop = start + len.unwrap_or(limit - start);
        let whole = &line[start..stop];
        let trailing = whole
            .iter()
            .rev()
            .take_while(|b| matches!(b, b'.' | b':' | b'!' | b'?' | b'\'' | b'`' | b'"'))
            .count();
        let token = &whole[..whole.len() - trailing];
        self.at = stop;
        if !token.is_empty() {
            self.write_token(token, stop - trailing);
        }
        self.out.text.extend_from_slice(&whole[token.len()..]);
    }

    /// Writes a token that ends at `end`.
    fn write_token(&mut self, token: &'a [u8], end: usize) {
        // Most tokens are plain words; beside a line number they may be a place, as `Makefile`.
        if token.iter().all(u8::is_ascii_alphabetic) {
            if self.numbered {
                self.write_word(token, end);
                return;
            }
            self.note_word(token, end);
            self.out.text.extend_from_slice(token);
            self.write_prose_word(token, end);
            return;
        }
        // The importing file is only the place.
        if self.previous == b"from" && place::is_source(token) {
            self.write_byte(b'#');
            self.write_prose_mark(OBJECT);
            self.remember_word(b"");
            return;
        }
        if let Some(at) = word_before_path(token) {
            self.write_word(&token[..at], end - token.len() + at);
            self.write_byte(b':');
            self.write_token(&token[at + 1..], end);
            return;
        }
        match token::classify_token(token) {
            TokenShape::Word => self.write_word(token, end),
            TokenShape::Number => self.write_number(token, end),
            TokenShape::Random | TokenShape::Location => {
                self.write_byte(b'#');
                self.write_prose_mark(OBJECT);
                self.remember_word(b"");
            }
            TokenShape::Path => self.write_path(token, end),
            TokenShape::Url => self.write_url(token),
            TokenShape::Ip => {
                self.out.text.extend_from_slice(b"<ip>");
                self.write_low_port(token);
                self.write_prose_mark(OBJECT);
                self.remember_word(b"");
            }
            TokenShape::HostPort => {
                let at = memchr::memrchr(b':', token).unwrap_or(token.len());
                self.out.text.extend_from_slice(&token[..at]);
                self.write_low_port(token);
                self.write_prose_mark(OBJECT);
                self.remember_word(b"");
            }
        }
    }

    fn remember_word(&mut self, word: &'a [u8]) {
        self.before = self.previous;
        self.previous = word;
    }

    fn write_word(&mut self, token: &'a [u8], end: usize) {
        self.note_word(token, end);
        let has_digit = token.iter().any(u8::is_ascii_digit);
        if (has_digit && self.names_request())
            || (self.numbered && place::is_file(token) && self.is_placed(end))
        {
            self.write_byte(b'#');
        } else if has_digit {
            // A number in a name identifies; a version after it does not.
            self.write_without_versions(token, usize::MAX);
        } else {
            self.out.text.extend_from_slice(token);
        }
        self.write_prose_word(token, end);
    }

    /// Writes a word that ends at `end` into the prose.
    fn write_prose_word(&mut self, token: &'a [u8], end: usize) {
        if let Some(close) = call_len(&self.line[end..]).filter(|_| !is_telling(token)) {
            self.write_prose_mark(OBJECT);
            self.call_end = self.call_end.max(end + close);
        } else if self.is_in_prose() {
            let prose = &mut self.out.prose;
            let start = prose.len();
            prose.extend_from_slice(token);
            prose[start..].make_ascii_lowercase();
            if let Some(colon) = memchr::memchr(b':', &prose[start..]) {
                prose[start + colon..].iter_mut().filter(|b| **b == b':').for_each(|b| *b = b' ');
            }
            prose.push(b' ');
        }
        self.remember_word(token);
    }

    /// Records facts that are words.
    fn note_word(&mut self, token: &'a [u8], end: usize) {
        let next = self.line.get(end).copied();
        let start = end - token.len();
        let opened = start > 0 && matches!(self.line[start - 1], b'(' | b'[');
        let in_brackets = opened && matches!(next, Some(b')' | b']'));
        let after_code = self.previous.eq_ignore_ascii_case(b"code");
        let last = memchr::memrchr(b':', token).map_or(token, |at| &token[at + 1..]);
        let names_error = token[0].is_ascii_uppercase() || token.starts_with(b"net::ERR_");
        if names_error && last.len() >= 4 && is_capitals(last) {
            // The last part of `Errno::EACCES`, or of a browser's `net::ERR_TIMED_OUT`, names the error.
            self.out.facts.push(Fact::Name(last));
        } else if (matches!(next, Some(b':' | b'(') | None) && is_exception_class(token))
            || ((in_brackets || after_code) && is_camel_case(last))
        {
            self.out.facts.push(Fact::Class(token));
        }
        if is_sql_state(token)
            && (is_word(self.previous, b"sqlstate") || opened || next == Some(b':'))
        {
            self.out.facts.push(Fact::SqlState(token));
        }
    }

    /// Returns whether the next token names a single request: `request ID 8F2A`.
    fn names_request(&self) -> bool {
        is_word(self.previous, b"id") || is_id_key(self.previous)
    }
}

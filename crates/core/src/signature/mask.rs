//! Masks what varies without meaning and keeps what identifies, in one pass over a line.
//!
//! The same pass writes the prose of the line (lower case, outside quotes, objects replaced by a
//! placeholder) and notes the structured facts, for the text rules.

use super::place;
use super::role::class_suffix;
use super::token::{self, Shape};

/// Stands for a path, an address or an identifier in prose.
pub(crate) const OBJECT: u8 = b'~';
/// Stands for quoted words in prose.
pub(crate) const QUOTED: u8 = b'\'';

/// Ports from here on are given out at random.
const EPHEMERAL_PORT_MIN: u32 = 32_768;

/// A structured fact on a kept line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact<'a> {
    /// An HTTP status.
    Status(u32),
    /// A system error number. Name lookup has negative ones.
    Errno(i32),
    /// How a process ended.
    Exit(u32),
    /// The signal that ended a process.
    Signal(u32),
    /// A name in capitals: `ECONNREFUSED`, `SIGSEGV`, `PERMISSION_DENIED`.
    Name(&'a [u8]),
    /// The number that a program gives its error in front of the text: `curl: (7) …`.
    Numbered(u32),
    /// A five-character code of a database.
    SqlState(&'a [u8]),
    /// A class or error type in class position.
    Class(&'a [u8]),
}

/// What came of the lines: their masked text, their prose and their facts.
pub(crate) struct Masked<'a> {
    /// The masked lines, each ended by a newline.
    pub(crate) text: Vec<u8>,
    /// The prose of the lines, each ended by a newline.
    pub(crate) prose: Vec<u8>,
    /// The facts, in order.
    pub(crate) facts: Vec<Fact<'a>>,
}

struct Pass<'a, 'm> {
    line: &'a [u8],
    at: usize,
    /// Where the open quotation ends, and whether its content is the tool's own speech.
    quote: Option<(usize, bool)>,
    /// Where the call that is being read ends: its arguments are no prose.
    call_end: usize,
    /// Whether the line speaks of a line number.
    numbered: bool,
    previous: &'a [u8],
    before: &'a [u8],
    out: &'m mut Masked<'a>,
}

impl<'a> Masked<'a> {
    /// Nothing yet, with room for a usual diagnosis.
    pub(crate) fn new() -> Self {
        const BYTES: usize = 512;
        Self {
            text: Vec::with_capacity(BYTES),
            prose: Vec::with_capacity(BYTES),
            facts: Vec::with_capacity(8),
        }
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &'a [u8]) {
        let line = unsuggested(line);
        let mut pass = Pass {
            line,
            at: 0,
            quote: None,
            call_end: 0,
            numbered: speaks_of_line(line),
            previous: b"",
            before: b"",
            out: self,
        };
        pass.run(line.len());
        self.text.truncate(self.text.trim_ascii_end().len());
        self.text.push(b'\n');
        self.prose.push(b'\n');
    }
}

impl<'a> Pass<'a, '_> {
    fn run(&mut self, end: usize) {
        while self.at < end {
            if self.quote.is_some_and(|(close, _)| self.at >= close) {
                self.quote = None;
                self.write(b'\'');
                self.at += 1;
                continue;
            }
            let byte = self.line[self.at];
            match byte {
                b if b.is_ascii_whitespace() => self.space(),
                b'"' | b'`' | b'\'' if self.quote.is_none() => self.open_quote(),
                b'{' if self.sorted_set() => {}
                b if is_delimiter(b) => {
                    self.write(b);
                    self.at += 1;
                }
                _ => self.token(end),
            }
        }
        if self.quote.take().is_some() {
            self.write(b'\'');
            self.at += 1;
        }
    }

    fn write(&mut self, byte: u8) {
        self.out.text.push(byte);
    }

    fn space(&mut self) {
        if !matches!(self.out.text.last(), Some(b' ' | b'\n') | None) {
            self.write(b' ');
        }
        self.at += 1;
    }

    /// Whether what is read now counts as prose.
    fn speaks(&self) -> bool {
        self.at >= self.call_end && self.quote.is_none_or(|(_, speech)| speech)
    }

    fn prose(&mut self, byte: u8) {
        if self.speaks() {
            self.out.prose.extend_from_slice(&[byte, b' ']);
        }
    }

    fn open_quote(&mut self) {
        let mark = self.line[self.at];
        let close = closing(self.line, self.at, mark);
        self.write(b'\'');
        if let Some(close) = close {
            let speech =
                self.is_value() && (is_speech_key(self.previous) || self.is_message(close));
            if self.is_value() && is_id_key(self.previous) {
                self.write(b'#');
                self.at = close;
                self.quote = Some((close, false));
                return;
            }
            if !speech {
                self.prose(QUOTED);
            }
            if self.is_value() && is_code_key(self.previous) {
                self.out.facts.push(Fact::Class(&self.line[self.at + 1..close]));
            }
            self.quote = Some((close, speech));
        }
        self.at += 1;
    }

    /// Whether the quotation up to `close` is the whole message: several words after a colon.
    fn is_message(&self, close: usize) -> bool {
        const WORDS_MIN: usize = 2;
        let quoted = &self.line[self.at + 1..close];
        close + 1 == self.line.len() && quoted.iter().filter(|b| **b == b' ').count() >= WORDS_MIN
    }

    /// Whether a value stands here: `key: …` or `key=…`.
    fn is_value(&self) -> bool {
        let before = self.line[..self.at].trim_ascii_end();
        matches!(before.last(), Some(b':' | b'='))
    }

    /// `{'b', 'a'}` has no order of its own.
    fn sorted_set(&mut self) -> bool {
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
        self.write(b'{');
        for item in items {
            self.out.text.extend_from_slice(item);
            self.write(b',');
        }
        self.at += 1 + len;
        true
    }

    fn token(&mut self, end: usize) {
        let line = self.line;
        let limit = self.quote.map_or(end, |(close, _)| close.min(end));
        let start = self.at;
        let len =
            line[start..limit].iter().position(|b| is_delimiter(*b) || b.is_ascii_whitespace());
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
            self.put(token, stop - trailing);
        }
        self.out.text.extend_from_slice(&whole[token.len()..]);
    }

    /// Writes a token that ends at `end`.
    fn put(&mut self, token: &'a [u8], end: usize) {
        if let Some(at) = word_before_path(token) {
            self.word(&token[..at], end - token.len() + at);
            self.write(b':');
            self.put(&token[at + 1..], end);
            return;
        }
        match token::shape(token) {
            Shape::Word => self.word(token, end),
            Shape::Number => self.number(token, end),
            Shape::Random | Shape::Location => {
                self.write(b'#');
                self.prose(OBJECT);
                self.remember(b"");
            }
            Shape::Path => self.path(token, end),
            Shape::Url => self.url(token),
            Shape::Ip => {
                self.out.text.extend_from_slice(b"<ip>");
                self.port_of(token);
                self.prose(OBJECT);
                self.remember(b"");
            }
            Shape::HostPort => {
                let at = memchr::memrchr(b':', token).unwrap_or(token.len());
                self.out.text.extend_from_slice(&token[..at]);
                self.port_of(token);
                self.prose(OBJECT);
                self.remember(b"");
            }
        }
    }

    fn remember(&mut self, word: &'a [u8]) {
        self.before = self.previous;
        self.previous = word;
    }

    fn word(&mut self, token: &'a [u8], end: usize) {
        self.note_word(token, end);
        let has_digit = token.iter().any(u8::is_ascii_digit);
        if (has_digit && self.names_request())
            || (self.numbered && place::is_file(token) && self.is_placed(end))
        {
            self.write(b'#');
        } else if has_digit {
            // A number in a name identifies; a version behind it does not.
            self.without_versions(token, usize::MAX);
        } else {
            self.out.text.extend_from_slice(token);
        }
        if let Some(close) = call_len(&self.line[end..]) {
            self.prose(OBJECT);
            self.call_end = self.call_end.max(end + close);
        } else if self.speaks() {
            let plain = |b: &u8| if *b == b':' { b' ' } else { b.to_ascii_lowercase() };
            self.out.prose.extend(token.iter().map(plain));
            self.out.prose.push(b' ');
        }
        self.remember(token);
    }

    /// Facts that are words.
    fn note_word(&mut self, token: &'a [u8], end: usize) {
        let next = self.line.get(end).copied();
        let start = end - token.len();
        let opened = start > 0 && matches!(self.line[start - 1], b'(' | b'[');
        if token[0].is_ascii_uppercase() && token.len() >= 4 && is_capitals(token) {
            self.out.facts.push(Fact::Name(token));
        } else if (matches!(next, Some(b':' | b'(') | None) && class_suffix(token))
            || (opened && matches!(next, Some(b')' | b']')) && is_camel(token))
        {
            self.out.facts.push(Fact::Class(token));
        } else if self.previous.eq_ignore_ascii_case(b"code") && is_camel(token) {
            self.out.facts.push(Fact::Class(token));
        }
        if is_sql_state(token)
            && (is_word(self.previous, b"sqlstate") || opened || next == Some(b':'))
        {
            self.out.facts.push(Fact::SqlState(token));
        }
    }

    /// A plain number is masked; a status, an exit status, an error number or a port is kept.
    fn number(&mut self, token: &'a [u8], end: usize) {
        let kept = self.meaning(token, end);
        if kept {
            self.out.text.extend_from_slice(token);
        } else {
            self.write(b'#');
        }
        self.prose(b'#');
        self.remember(token);
    }

    fn meaning(&mut self, token: &'a [u8], end: usize) -> bool {
        let (negative, digits) = match token {
            [b'-', digits @ ..] => (true, digits),
            _ => (false, token),
        };
        let Some(value) = small(digits) else { return false };
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
        if is_status && (introduces_status(self.previous, after) || is_reason(after)) {
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

    /// `curl: (7) text`: in brackets, right after the program's name.
    fn is_own_number(&self, start: usize, end: usize) -> bool {
        self.line[end..].starts_with(b") ")
            && self.line[..start].ends_with(b": (")
            && !self.line[..start].contains(&b' ')
                | (memchr::memchr(b' ', self.line) == Some(start - 2))
    }

    /// `ERROR 1045 (28000): …`.
    fn is_bracketed_state(&self, token: &[u8], end: usize) -> bool {
        token.len() == 5
            && end > 5
            && self.line[end - 6] == b'('
            && self.line[end..].starts_with(b"):")
            && is_word(self.before, b"error")
    }

    /// `request ID 8F2A`: what follows names one request only.
    fn names_request(&self) -> bool {
        is_word(self.previous, b"id") || is_id_key(self.previous)
    }

    /// `… at a.pl line 3`, `… in a.php on line 3`, `'a.yml': line 3`.
    fn is_placed(&self, end: usize) -> bool {
        let rest = &self.line[end..];
        let rest = rest.strip_prefix(b"'").or_else(|| rest.strip_prefix(b"\"")).unwrap_or(rest);
        let rest = rest
            .strip_prefix(b":")
            .or_else(|| rest.strip_prefix(b","))
            .unwrap_or(rest)
            .trim_ascii_start();
        let rest = rest.strip_prefix(b"on ").unwrap_or(rest);
        let numbered = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        if is_word(self.previous, b"parsing") || is_word(self.previous, b"parse") {
            return memchr::memmem::find(rest, b"line ")
                .is_some_and(|at| numbered(&rest[at + 5..]));
        }
        rest.strip_prefix(b"line ").is_some_and(numbered)
    }

    fn path(&mut self, token: &'a [u8], end: usize) {
        if let Some(rest) = token.strip_prefix(b"HTTP/") {
            self.out.text.extend_from_slice(b"HTTP");
            if rest.first().is_some_and(u8::is_ascii_digit) {
                self.remember(&token[..4]);
                return;
            }
        }
        if (self.numbered && self.is_placed(end)) || is_word(self.previous, b"from") {
            self.write(b'#');
        } else {
            self.file_name(place::base(token));
        }
        self.prose(OBJECT);
        self.remember(b"");
    }

    /// A base name identifies; long numbers in it do not.
    fn file_name(&mut self, name: &[u8]) {
        const DIGITS_MIN: usize = 2;
        let bare = !name.contains(&b'.');
        if token::is_random(name) || is_temporary(name) || (bare && token::is_made_up(name)) {
            self.write(b'#');
            return;
        }
        self.without_versions(name, DIGITS_MIN);
    }

    /// Writes a name; numbers of at least `digits_min` digits and versions in it are masked.
    fn without_versions(&mut self, name: &[u8], digits_min: usize) {
        let mut rest = name;
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            self.out.text.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            let (len, dotted) = version_len(rest);
            if dotted || len >= digits_min {
                self.write(b'#');
            } else {
                self.out.text.extend_from_slice(&rest[..len]);
            }
            rest = &rest[len..];
        }
    }

    /// `scheme://user@host:port/path?query`: host, low port and path identify.
    fn url(&mut self, token: &'a [u8]) {
        let at = memchr::memmem::find(token, b"://").map_or(0, |at| at + 3);
        let scheme = &token[..at];
        self.out.text.extend_from_slice(scheme);
        let rest = &token[at..];
        if scheme == b"file://" || scheme == b"unix://" {
            self.file_name(place::base(rest));
        } else {
            let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
            let (peer, path) = (&rest[..end], &rest[end..]);
            let peer = memchr::memrchr(b'@', peer).map_or(peer, |at| &peer[at + 1..]);
            let host = &peer[..memchr::memrchr(b':', peer).unwrap_or(peer.len())];
            if token::is_ip(host) {
                self.out.text.extend_from_slice(b"<ip>");
            } else {
                self.out.text.extend_from_slice(host);
            }
            self.port_of(peer);
            self.url_path(path);
        }
        self.prose(OBJECT);
        self.remember(b"");
    }

    fn url_path(&mut self, path: &[u8]) {
        let path = &path[..memchr::memchr2(b'?', b'#', path).unwrap_or(path.len())];
        for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
            self.write(b'/');
            match token::shape(part) {
                Shape::Number | Shape::Random => self.write(b'#'),
                _ => self.file_name(part),
            }
        }
    }

    fn port_of(&mut self, peer: &[u8]) {
        let Some(at) = memchr::memrchr(b':', peer) else { return };
        if small(&peer[at + 1..]).is_some_and(|port| port < EPHEMERAL_PORT_MIN) {
            self.out.text.extend_from_slice(&peer[at..]);
        }
    }
}

/// Whether `line 3` stands in the line.
fn speaks_of_line(line: &[u8]) -> bool {
    memchr::memchr_iter(b'l', line).any(|at| {
        line[at..].starts_with(b"line ") && line.get(at + 5).is_some_and(u8::is_ascii_digit)
    })
}

/// A line without the guess at its end: what is similar depends on names that do not matter.
fn unsuggested(line: &[u8]) -> &[u8] {
    if !matches!(line.last(), Some(b'?' | b')')) {
        return line;
    }
    match memchr::memmem::find(line, b"id you mean") {
        Some(at) if at > 1 => {
            let head = &line[..at - 1];
            let end = head
                .iter()
                .rposition(|b| !matches!(b, b' ' | b'(' | b';' | b','))
                .map_or(0, |at| at + 1);
            &head[..end]
        }
        _ => line,
    }
}

/// The length of a number or a version at the beginning, and whether it is a version.
fn version_len(text: &[u8]) -> (usize, bool) {
    let mut len = 0;
    let mut dotted = false;
    while len < text.len() {
        match text[len] {
            b'0'..=b'9' => len += 1,
            b'.' if len > 0 && text.get(len + 1).is_some_and(u8::is_ascii_digit) => {
                dotted = true;
                len += 1;
            }
            _ => break,
        }
    }
    (len, dotted)
}

/// `refused:../crypto/a.c`: where the word before a path ends.
fn word_before_path(token: &[u8]) -> Option<usize> {
    let at = memchr::memchr(b':', token)?;
    let opens =
        matches!(&token[at + 1..], [b'.', b'.' | b'/', ..] | [b'/', b'a'..=b'z' | b'A'..=b'Z', ..]);
    (at > 1 && opens && token[..at].iter().all(u8::is_ascii_alphabetic)).then_some(at)
}

/// The length of plain arguments right behind a name: `(integer, text)`. `file(s)` is no call.
fn call_len(after: &[u8]) -> Option<usize> {
    const BYTES_MAX: usize = 60;
    let inner = after.strip_prefix(b"(")?;
    let close = memchr::memchr(b')', &inner[..inner.len().min(BYTES_MAX)])?;
    let arguments = &inner[..close];
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b',' | b' ' | b'.' | b'*');
    (arguments != b"s" && arguments.iter().all(plain)).then_some(close + 2)
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'<'
            | b'>'
            | b','
            | b';'
            | b'='
            | b'|'
            | b'"'
            | b'`'
    )
}

/// Where the quotation opened at `open` ends. A mark inside a word is an apostrophe.
fn closing(line: &[u8], open: usize, mark: u8) -> Option<usize> {
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

/// Keys whose value is what the tool wants to say.
fn is_speech_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"message",
        b"error",
        b"msg",
        b"detail",
        b"details",
        b"description",
        b"error_description",
        b"reason",
        b"err",
        b"cause",
        b"title",
        b"errors",
        b"error_message",
        b"errormessage",
    ];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Keys whose value names one request only.
fn is_id_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"request_id",
        b"requestid",
        b"request-id",
        b"trace_id",
        b"traceid",
        b"id",
        b"ray",
        b"correlation_id",
        b"correlationid",
        b"x-request-id",
        b"activityid",
        b"timestamp",
        b"time",
    ];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

/// Keys whose value is an error type.
fn is_code_key(key: &[u8]) -> bool {
    const KEYS: &[&[u8]] =
        &[b"code", b"type", b"reason", b"error", b"status", b"errorcode", b"name"];
    KEYS.iter().any(|word| key.eq_ignore_ascii_case(word))
}

fn is_word(found: &[u8], wanted: &[u8]) -> bool {
    found.eq_ignore_ascii_case(wanted)
}

/// `ECONNREFUSED`, `EAI_AGAIN`, `E401`, `PERMISSION_DENIED`.
fn is_capitals(token: &[u8]) -> bool {
    token.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

/// `AccessDenied`, `NotFound`.
fn is_camel(token: &[u8]) -> bool {
    token.first().is_some_and(u8::is_ascii_uppercase)
        && token.len() >= 6
        && token.iter().all(u8::is_ascii_alphanumeric)
        && token.iter().any(u8::is_ascii_lowercase)
}

/// Two digits or letters of class, three of subclass; at least two digits.
fn is_sql_state(token: &[u8]) -> bool {
    token.len() == 5
        && token[0].is_ascii_digit()
        && token[1].is_ascii_alphanumeric()
        && token.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// Names such as `tmpAb3xY`, `ccZk1Q.o`: upper case follows lower case more than once.
fn is_temporary(name: &[u8]) -> bool {
    let body = name.split(|b| *b == b'.').next().unwrap_or(name);
    let opens = body.starts_with(b"tmp") || body.starts_with(b"cc") || body.starts_with(b".tmp");
    opens && body.len() >= 7 && body.iter().any(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

fn small(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |value, b| b.is_ascii_digit().then(|| value * 10 + u32::from(b - b'0')))
}

/// The words after which a three-digit number is an HTTP status.
fn introduces_status(previous: &[u8], after: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"http",
        b"status",
        b"code",
        b"statuscode",
        b"status_code",
        b"returned",
        b"response",
        b"error",
        b"httperror",
        b"received",
        b"got",
        b"https",
    ];
    let plain = WORDS.iter().any(|word| is_word(previous, word));
    plain && (!is_word(previous, b"error") || !after.first().is_some_and(u8::is_ascii_lowercase))
}

/// The words that follow a status in prose.
fn is_reason(after: &[u8]) -> bool {
    const REASONS: &[&[u8]] = &[
        b"Unauthorized",
        b"Forbidden",
        b"Too Many",
        b"Bad Gateway",
        b"Service Unavail",
        b"Gateway Time",
        b"Internal Server",
        b"Not Found",
        b"Client Error",
        b"Server Error",
        b"Payment Required",
        b"Bad Request",
        b"Conflict",
        b"Request Time",
        b"Proxy Auth",
        b"Unprocessable",
        b"Method Not",
        b"Gone",
        b"status code",
    ];
    REASONS.iter().any(|reason| {
        after.len() >= reason.len() && after[..reason.len()].eq_ignore_ascii_case(reason)
    })
}

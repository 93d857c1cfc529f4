//! Numbers, which are masked unless the words around them give them a meaning, and objects: paths, files,
//! addresses and names with a version.

use super::super::place;
use super::super::token::{self, TokenShape};
use super::words::{
    ends_with_place, introduces_status, is_reason_phrase, is_sql_state, is_word,
    parse_small_number, speaks_of_missing,
};
use super::{EPHEMERAL_PORT_MIN, Fact, MaskingPass, OBJECT};

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

impl<'a> MaskingPass<'a, '_> {
    pub(super) fn write_path(&mut self, token: &'a [u8], end: usize) {
        if let Some(rest) = token.strip_prefix(b"HTTP/") {
            self.out.text.extend_from_slice(b"HTTP");
            if rest.first().is_some_and(u8::is_ascii_digit) {
                self.remember_word(&token[..4]);
                return;
            }
        }
        if (self.numbered && self.is_placed(end))
            || is_word(self.previous, b"from")
            || self.is_surroundings(token)
        {
            self.write_byte(b'#');
        } else {
            if let Some(name) = name_before_version(token) {
                self.out.text.extend_from_slice(name);
            }
            self.write_file_name(place::base_name(token));
        }
        if token.eq_ignore_ascii_case(b"i/o") || token.eq_ignore_ascii_case(b"input/output") {
            if self.is_in_prose() {
                self.out.prose.extend_from_slice(b"i/o ");
            }
            self.remember_word(b"");
            return;
        }
        match split_alternatives(token) {
            Some((one, other)) if self.is_in_prose() => {
                let prose = &mut self.out.prose;
                for word in [one, other] {
                    prose.extend_from_slice(word);
                    prose.push(b' ');
                }
            }
            _ => self.write_prose_mark(OBJECT),
        }
        self.remember_word(b"");
    }

    /// Returns whether a path is where the failure happened, not what is wrong: `found in /home/u/app`,
    /// `working copy '/home/u/app'`.
    fn is_surroundings(&self, path: &[u8]) -> bool {
        const BEFORE: &[&[u8]] = &[b"at", b"of", b"copy", b"checkout", b"workspace", b"under"];
        let is = |word: &[u8]| is_word(self.previous, word);
        let bare = !place::base_name(path).contains(&b'.');
        path.first() == Some(&b'/')
            && (is(b"in") || (bare && (self.is_bracketed() || BEFORE.iter().any(|word| is(word)))))
    }

    /// Returns whether the token just read is alone in parentheses: `(text)`.
    fn is_bracketed(&self) -> bool {
        self.line.get(self.at) == Some(&b')') && self.out.text.last() == Some(&b'(')
    }

    /// Writes a base name, which identifies; long numbers in it are masked.
    pub(super) fn write_file_name(&mut self, name: &[u8]) {
        const DIGITS_MIN: usize = 2;
        let bare = !name.contains(&b'.');
        if token::is_random(name) || is_temporary(name) || (bare && token::is_made_up(name)) {
            self.write_byte(b'#');
            return;
        }
        self.write_without_versions(name, DIGITS_MIN);
    }

    /// Writes a name; numbers of at least `digits_min` digits and versions in it are masked.
    pub(super) fn write_without_versions(&mut self, name: &[u8], digits_min: usize) {
        let mut rest = name;
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            self.out.text.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            let (len, dotted) = version_len(rest);
            if dotted || len >= digits_min {
                self.write_byte(b'#');
            } else {
                self.out.text.extend_from_slice(&rest[..len]);
            }
            rest = &rest[len..];
        }
    }

    /// Writes `scheme://user@host:port/path?query`: host, low port and path identify.
    pub(super) fn write_url(&mut self, token: &'a [u8]) {
        let at = memchr::memmem::find(token, b"://").map_or(0, |at| at + 3);
        let scheme = &token[..at];
        self.out.text.extend_from_slice(scheme);
        let rest = &token[at..];
        if scheme == b"file://" || scheme == b"unix://" {
            let name = place::base_name(rest);
            match memchr::memchr(b':', name) {
                Some(at) if name.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                    self.write_byte(b'#');
                }
                _ => self.write_file_name(name),
            }
        } else {
            let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
            let peer = &rest[..end];
            let path = &rest[end..];
            let peer = memchr::memrchr(b'@', peer).map_or(peer, |at| &peer[at + 1..]);
            let host = &peer[..memchr::memrchr(b':', peer).unwrap_or(peer.len())];
            if token::is_ip(host) {
                self.out.text.extend_from_slice(b"<ip>");
            } else if token::is_random(host) {
                self.write_byte(b'#');
            } else {
                self.out.text.extend_from_slice(host);
            }
            self.write_low_port(peer);
            self.write_url_path(path);
        }
        self.write_prose_mark(OBJECT);
        self.remember_word(b"");
    }

    pub(super) fn write_url_path(&mut self, path: &[u8]) {
        let path = &path[..memchr::memchr2(b'?', b'#', path).unwrap_or(path.len())];
        for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
            self.write_byte(b'/');
            match token::classify_token(part) {
                TokenShape::Number | TokenShape::Random => self.write_byte(b'#'),
                _ => self.write_file_name(part),
            }
        }
    }

    pub(super) fn write_low_port(&mut self, peer: &[u8]) {
        let Some(at) = memchr::memrchr(b':', peer) else { return };
        if parse_small_number(&peer[at + 1..]).is_some_and(|port| port < EPHEMERAL_PORT_MIN) {
            self.out.text.extend_from_slice(&peer[at..]);
        }
    }

    /// Returns whether a file comes before the message about its line: `a.gv: syntax error in line 3`,
    /// `Error: a.gv: …`. If another file precedes the line number, that one is the place.
    fn opens_line(&self, end: usize) -> bool {
        let first = self.previous.is_empty() || is_word(self.previous, b"error");
        let said = &self.line[end..];
        let Some(at) = memchr::memmem::find(said, b" line ").filter(|_| first) else {
            return false;
        };
        let before = said[..at].rsplit(|b| *b == b' ').next().unwrap_or_default();
        !place::is_file(before)
    }

    /// Returns whether a line number follows: `… at a.pl line 3`, `… in a.php on line 3`, `'a.yml': line 3`.
    pub(super) fn is_placed(&self, end: usize) -> bool {
        let rest = &self.line[end..];
        // `line 3 of a.yml`.
        if is_word(self.previous, b"of") && self.before.iter().all(u8::is_ascii_digit) {
            return true;
        }
        if rest.starts_with(b": ") && (ends_with_place(self.line) || self.opens_line(end)) {
            return true;
        }
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
        rest.strip_prefix(b"line ").is_some_and(numbered) || !speaks_of_missing(self.line)
    }
}

/// Returns the name before its version, with the slash: `zlib/1.3.1`.
fn name_before_version(token: &[u8]) -> Option<&[u8]> {
    let at = memchr::memchr(b'/', token)?;
    let named = token[0].is_ascii_alphabetic();
    (named && token.get(at + 1).is_some_and(u8::is_ascii_digit)).then_some(&token[..=at])
}

/// Returns the length of a number or a version at the beginning, and whether it is a version.
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

/// Returns whether a name is temporary, such as `tmpAb3xY`, `ccZk1Q.o`.
fn is_temporary(name: &[u8]) -> bool {
    let body = name.split(|b| *b == b'.').next().unwrap_or(name);
    let opens = body.starts_with(b"tmp") || body.starts_with(b"cc") || body.starts_with(b".tmp");
    opens && body.len() >= 7 && body.iter().any(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// Splits two words of a sentence that are not a path: `username/password`, `create/acquire`.
fn split_alternatives(token: &[u8]) -> Option<(&[u8], &[u8])> {
    const WORDS: &[&[u8]] = &[
        b"username", b"user", b"password", b"passphrase", b"token", b"login", b"key", b"acquire",
        b"obtain", b"locked",
    ];
    let (one, other) = token.split_at(memchr::memchr(b'/', token)?);
    let other = &other[1..];
    (WORDS.contains(&one) || WORDS.contains(&other)).then_some((one, other))
}

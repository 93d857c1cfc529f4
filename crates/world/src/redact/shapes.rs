//! Shapes of secrets, for values that are not known to be secret.
//!
//! Every shape has an anchor, a few characters that it always contains; all anchors are searched
//! for at once, and only the text around a match is examined. Each examination is bounded or
//! advances the search, so the whole is linear.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::SecretMatch;
use super::forms::is_base64;

/// The shape to look for around an anchor.
#[derive(Clone, Copy, Debug)]
enum SecretShape {
    /// A key: the anchor in exactly this case at the start of a word, and at least this many
    /// characters after it.
    Key { kind: &'static str, letters_min: usize },
    /// Three parts of base64 with dots between.
    Jwt,
    /// The block of a private key, or the part of it on this line.
    PrivateKey,
    /// A header whose whole value is a credential.
    Header,
    /// A password in a URL.
    Address,
    /// A name and a password as one word of a command line: `curl -u ada:Kd82xyz`.
    Login,
    /// A password that is attached to its option: `mysql -pKd82xyz`.
    Attached,
    /// An assignment: `password=…`, `"token": "…"`.
    Assignment { plain_words: bool },
    /// An assignment whose name may also be that of the current folder: `PWD=/home/ada`.
    PasswordOrFolder,
}

const fn key_shape(kind: &'static str, letters_min: usize) -> SecretShape {
    SecretShape::Key { kind, letters_min }
}

/// A password may be a plain word; a token that is one is more likely a variable.
const PASSWORD: SecretShape = SecretShape::Assignment { plain_words: true };
const TOKEN: SecretShape = SecretShape::Assignment { plain_words: false };

const SHAPES: &[(&str, SecretShape)] = &[
    ("sk-", key_shape("api-key", 20)),
    ("sk_live_", key_shape("stripe", 10)),
    ("sk_test_", key_shape("stripe", 10)),
    ("rk_live_", key_shape("stripe", 10)),
    ("gsk_", key_shape("api-key", 20)),
    ("xai-", key_shape("api-key", 20)),
    ("hf_", key_shape("hugging-face", 20)),
    ("ghp_", key_shape("github", 20)),
    ("gho_", key_shape("github", 20)),
    ("ghu_", key_shape("github", 20)),
    ("ghs_", key_shape("github", 20)),
    ("ghr_", key_shape("github", 20)),
    ("github_pat_", key_shape("github", 20)),
    ("glpat-", key_shape("gitlab", 16)),
    ("xoxb-", key_shape("slack", 10)),
    ("xoxp-", key_shape("slack", 10)),
    ("xoxa-", key_shape("slack", 10)),
    ("xoxr-", key_shape("slack", 10)),
    ("xoxs-", key_shape("slack", 10)),
    ("xapp-", key_shape("slack", 10)),
    ("hooks.slack.com/services/", key_shape("slack", 20)),
    ("AKIA", key_shape("aws", 16)),
    ("ASIA", key_shape("aws", 16)),
    ("AIza", key_shape("google", 30)),
    ("ya29.", key_shape("google", 20)),
    ("npm_", key_shape("npm", 30)),
    ("pypi-", key_shape("pypi", 20)),
    ("ust_", key_shape("unstuck", 40)),
    ("eyJ", SecretShape::Jwt),
    ("-----BEGIN ", SecretShape::PrivateKey),
    ("authorization", SecretShape::Header),
    ("cookie", SecretShape::Header),
    ("x-api-key", SecretShape::Header),
    ("bearer ", key_shape(BEARER, 16)),
    ("://", SecretShape::Address),
    (" -u ", SecretShape::Login),
    (" --user ", SecretShape::Login),
    ("mysql", SecretShape::Attached),
    ("mariadb", SecretShape::Attached),
    ("password", PASSWORD),
    ("passwd", PASSWORD),
    ("passphrase", PASSWORD),
    ("pwd", SecretShape::PasswordOrFolder),
    ("secret", TOKEN),
    ("token", TOKEN),
    ("api_key", TOKEN),
    ("api-key", TOKEN),
    ("apikey", TOKEN),
    ("access_key", TOKEN),
    ("secret_key", TOKEN),
    ("private_key", TOKEN),
    ("credential", TOKEN),
];

const PRIVATE_KEY: &str = "private-key";
const BEARER: &str = "bearer";

/// Maximum length of a URL's authority that is examined, in bytes.
const AUTHORITY_BYTES_MAX: usize = 512;

static ANCHORS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        // Most programs examine a line or two: a table for every state takes longer to build.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(SHAPES.iter().map(|(anchor, _)| anchor))
        .ok()
});

pub(super) fn has_anchor(text: &[u8]) -> bool {
    ANCHORS.as_ref().is_none_or(|anchors| anchors.is_match(text))
}

/// Returns all matches of the shapes in one line.
pub(super) fn find_shapes(line: &[u8]) -> Vec<SecretMatch> {
    let mut found = Vec::new();
    let Some(anchors) = ANCHORS.as_ref() else { return found };
    let mut at = 0;
    let mut last_end = 0;
    while let Some(hit) = anchors.find(Input::new(line).range(at..)) {
        let (anchor, shape) = SHAPES[hit.pattern().as_usize()];
        // An earlier match becomes a marker, and a word begins after that.
        let fresh = hit.start() == last_end || !is_word_byte(line[hit.start() - 1]);
        let range = match shape {
            SecretShape::Key { kind, letters_min } => {
                match_anchor(line, &hit.range(), anchor, fresh)
                    .and_then(|range| extend_over_letters(line, range, letters_min))
                    .map(|range| (range, kind))
            }
            SecretShape::Jwt => {
                fresh.then(|| find_jwt(line, hit.start())).flatten().map(|r| (r, "jwt"))
            }
            SecretShape::PrivateKey => {
                find_private_key(line, hit.range()).map(|r| (r, PRIVATE_KEY))
            }
            SecretShape::Header => find_header(line, hit.end()).map(|r| (r, "header")),
            SecretShape::Address => find_password(line, hit.end()).map(|r| (r, "address")),
            SecretShape::Login => find_login(line, hit.end()).map(|r| (r, "value")),
            SecretShape::Attached => find_attached(line, hit.end()).map(|r| (r, "value")),
            SecretShape::Assignment { plain_words } => {
                find_assignment(line, hit.end(), plain_words)
                    .or_else(|| find_option_value(line, &hit.range()))
                    .map(|r| (r, "value"))
            }
            SecretShape::PasswordOrFolder => find_assignment(line, hit.end(), true)
                .filter(|range| !is_path(&line[range.clone()]))
                .map(|r| (r, "value")),
        };
        match range {
            Some((range, kind)) => {
                at = range.end.max(hit.start() + 1);
                last_end = range.end;
                found.push(SecretMatch { range, kind: Some(kind) });
            }
            None => at = hit.start() + 1,
        }
    }
    found
}

/// Returns the kind of key in a line, if it can hardly be anything else: a key of a service, or a
/// private key. Assignments, headers and URLs are excluded, because many programs contain them.
pub(super) fn find_key_kind(line: &[u8]) -> Option<&'static str> {
    let anchors = ANCHORS.as_ref()?;
    let mut at = 0;
    while let Some(hit) = anchors.find(Input::new(line).range(at..)) {
        at = hit.start() + 1;
        let (anchor, shape) = SHAPES[hit.pattern().as_usize()];
        let fresh = hit.start() == 0 || !is_word_byte(line[hit.start() - 1]);
        match shape {
            SecretShape::Key { kind, letters_min } if kind != BEARER => {
                let key = match_anchor(line, &hit.range(), anchor, fresh);
                let Some(key) = key.and_then(|key| extend_over_letters(line, key, letters_min))
                else {
                    continue;
                };
                // Manuals mark public example keys.
                let is_example = line[..key.end].ends_with(b"EXAMPLE");
                if !is_example && is_random(&line[hit.end()..key.end]) {
                    return Some(kind);
                }
                at = key.end;
            }
            SecretShape::PrivateKey if find_private_key(line, hit.range()).is_some() => {
                return Some(PRIVATE_KEY);
            }
            _ => {}
        }
    }
    None
}

/// Returns whether characters look random: a name made of words has no digits and is not in
/// capitals.
fn is_random(letters: &[u8]) -> bool {
    letters.iter().any(u8::is_ascii_digit) || !letters.iter().any(u8::is_ascii_lowercase)
}

const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Checks a key's anchor, which counts only in its own case; the word before a token counts in any.
fn match_anchor(
    line: &[u8],
    hit: &Range<usize>,
    anchor: &str,
    fresh: bool,
) -> Option<Range<usize>> {
    let word = anchor.ends_with(' ') || anchor.contains('/');
    let same = word || &line[hit.clone()] == anchor.as_bytes();
    (fresh && same).then(|| if word { hit.end..hit.end } else { hit.clone() })
}

/// Extends `range` by the characters after it, if there are enough of them.
fn extend_over_letters(
    line: &[u8],
    range: Range<usize>,
    letters_min: usize,
) -> Option<Range<usize>> {
    let letters = |byte: &u8| is_base64(*byte) || matches!(byte, b'.' | b'~');
    let letters = line[range.end..].iter().take_while(|byte| letters(byte)).count();
    (letters >= letters_min).then_some(range.start..range.end + letters)
}

fn find_jwt(line: &[u8], start: usize) -> Option<Range<usize>> {
    let end = extend_over_letters(line, start..start, 30)?.end;
    let parts = line[start..end].split(|byte| *byte == b'.').take(3);
    (parts.filter(|part| part.len() >= 8).count() >= 2).then_some(start..end)
}

fn find_private_key(line: &[u8], begin: Range<usize>) -> Option<Range<usize>> {
    let rest = &line[begin.end..];
    let head = memchr::memmem::find(&rest[..rest.len().min(64)], b"PRIVATE KEY-----")?;
    let body = begin.end + head + b"PRIVATE KEY-----".len();
    let end = match memchr::memmem::find(&line[body..], b"-----END ") {
        Some(at) => {
            let tail = &line[body + at + 9..];
            let close = memchr::memmem::find(tail, b"-----").map_or(0, |close| close + 5);
            body + at + 9 + close
        }
        None => body + line[body..].iter().take_while(|b| is_key_body(**b)).count(),
    };
    Some(begin.start..end)
}

/// Returns whether a byte may be in the body of a private key, including line ends as JSON escapes
/// them.
pub(super) const fn is_key_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\')
}

/// Returns whether a private key begins on a line and continues after it.
pub(super) fn opens_key(line: &[u8], found: &[SecretMatch]) -> bool {
    found.last().is_some_and(|SecretMatch { range, kind }| {
        *kind == Some(PRIVATE_KEY)
            && line[range.end..].trim_ascii().is_empty()
            && memchr::memmem::find(&line[range.clone()], b"-----END ").is_none()
    })
}

/// The position of an assigned value, after the name, a quote, `:` or `=`, and spaces.
struct AssignedValue {
    at: usize,
    quote: Option<u8>,
    tight: bool,
}

fn find_value(line: &[u8], name_end: usize) -> Option<AssignedValue> {
    let skip = |mut at: usize, wanted: fn(u8) -> bool| {
        while line.get(at).is_some_and(|byte| wanted(*byte)) {
            at += 1;
        }
        at
    };
    let name = skip(name_end, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let sign = skip(name, |byte| byte == b' ');
    let sign_byte = *line.get(sign)?;
    if !matches!(sign_byte, b':' | b'=') {
        return None;
    }
    let value = skip(sign + 1, |byte| byte == b' ');
    let escaped = usize::from(line.get(value) == Some(&b'\\'));
    let quote = line.get(value + escaped).copied().filter(|b| matches!(b, b'"' | b'\''));
    let at = if quote.is_some() { value + escaped + 1 } else { value };
    Some(AssignedValue { at, quote, tight: sign_byte == b'=' && sign == name && value == sign + 1 })
}

fn is_redacted(line: &[u8], range: &Range<usize>) -> bool {
    line[range.clone()].starts_with(b"[redacted")
}

fn find_header(line: &[u8], name_end: usize) -> Option<Range<usize>> {
    let given = find_value(line, name_end)?;
    let ends = |byte: &u8| matches!(byte, b'"' | b'\'' | b'\\');
    let length = line[given.at..].iter().take_while(|byte| !ends(byte)).count();
    let range = given.at..given.at + line[given.at..given.at + length].trim_ascii_end().len();
    (range.len() >= 8 && !is_redacted(line, &range)).then_some(range)
}

fn find_password(line: &[u8], start: usize) -> Option<Range<usize>> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'<>`\\".contains(byte);
    let authority = line[start..].iter().take(AUTHORITY_BYTES_MAX);
    let length = authority.take_while(|byte| !ends(byte)).count();
    let at = memchr::memrchr(b'@', &line[start..start + length])?;
    let colon = memchr::memchr(b':', &line[start..start + at])?;
    let range = start + colon + 1..start + at;
    (!range.is_empty() && !is_redacted(line, &range)).then_some(range)
}

fn find_assignment(line: &[u8], name_end: usize, plain_words: bool) -> Option<Range<usize>> {
    let given = find_value(line, name_end)?;
    let rest = &line[given.at..];
    let length = match given.quote {
        Some(quote) => {
            let ends = |byte: &u8| *byte == quote || *byte == b'\\';
            rest.iter().position(ends).or_else(|| rest.iter().position(u8::is_ascii_whitespace))
        }
        None => {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;&)}]<>|\\".contains(byte);
            rest.iter().position(ends)
        }
    };
    let range = given.at..given.at + length.unwrap_or(rest.len());
    (!is_redacted(line, &range) && is_secret(&line[range.clone()], &given, plain_words))
        .then_some(range)
}

/// Returns the password in `ada:Kd82xyz`. `1000:1000` and `node:node` are users and groups.
fn find_login(line: &[u8], start: usize) -> Option<Range<usize>> {
    let start = start + usize::from(line.get(start).is_some_and(|b| matches!(b, b'"' | b'\'')));
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`');
    let length = line[start..].iter().position(ends).unwrap_or(line.len() - start);
    let word = &line[start..start + length];
    let colon = memchr::memchr(b':', word)?;
    let value = &word[colon + 1..];
    let is_plain = value.iter().all(u8::is_ascii_digit) || value.iter().all(u8::is_ascii_lowercase);
    let refers = value.first().is_some_and(|byte| b"$<{[(".contains(byte)) || is_path(value);
    let fits = colon > 0 && value.len() >= 4 && !is_plain && !refers;
    fits.then(|| start + colon + 1..start + length)
}

/// Returns the password in `mysqldump -u root -pKd82xyz shop`.
fn find_attached(line: &[u8], start: usize) -> Option<Range<usize>> {
    let end = line[start..].iter().position(|byte| matches!(byte, b'|' | b';' | b'&'));
    let rest = &line[..end.map_or(line.len(), |end| start + end)];
    let at = start + memchr::memmem::find(&rest[start..], b" -p")? + 3;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`');
    let length = rest[at..].iter().position(ends).unwrap_or(rest.len() - at);
    let refers = rest.get(at).is_some_and(|byte| b"$<{[(".contains(byte));
    (length >= 4 && !refers).then_some(at..at + length)
}

/// Returns the value of an option of a command line: `--password Kd82-xyz`. A word of prose is none.
fn find_option_value(line: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    let start = line[..name.start].iter().rposition(|byte| !is_word_byte(*byte));
    let is_option = line[start.map_or(0, |at| at + 1)..name.start].starts_with(b"--");
    let rest = line.get(name.end..)?.strip_prefix(b" ")?;
    let quoted = rest.first().is_some_and(|byte| matches!(byte, b'"' | b'\''));
    let value = &rest[usize::from(quoted)..];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`');
    let length = value.iter().position(ends).unwrap_or(value.len());
    let value = &value[..length];
    let refers = value.first().is_some_and(|byte| b"-$<{[(*%&".contains(byte)) || is_path(value);
    let fits = length >= 6 && value.iter().any(u8::is_ascii_digit) && !refers;
    let from = name.end + 1 + usize::from(quoted);
    (is_option && fits).then_some(from..from + length)
}

/// Returns whether a value is a path from the root, from a home folder or from the current one.
fn is_path(value: &[u8]) -> bool {
    [b"/".as_slice(), b"~", b"./", b"../"].iter().any(|start| value.starts_with(start))
}

/// Returns whether a value looks like a secret and not like a type, a variable or a call.
fn is_secret(value: &[u8], given: &AssignedValue, plain_words: bool) -> bool {
    let literal = given.quote.is_some() || given.tight;
    let long = if literal { 4 } else { 8 };
    let digit = value.iter().any(u8::is_ascii_digit);
    let word = ["null", "none", "true", "false"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let refers =
        value.first().is_some_and(|byte| b"$<{(*%&[".contains(byte)) || value.contains(&b'(');
    value.len() >= long && !word && !refers && (digit || plain_words && literal)
}

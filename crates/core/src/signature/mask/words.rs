//! The meaning that surrounding words give to a token.

/// Returns whether a three-digit number after this word is an HTTP status.
pub(super) fn introduces_status(previous: &[u8], after: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"http", b"status", b"code", b"statuscode", b"status_code", b"returned", b"response",
        b"error", b"httperror", b"received", b"got", b"https",
        // The reason phrase may come first: `Bad Gateway 502`.
        b"gateway", b"unavailable", b"unauthorized", b"forbidden", b"requests", b"unreachable",
        b"refused", b"rejected", b"denied",
    ];
    // `google.api.Unavailable: 503 …`.
    let classed = memchr::memchr(b'.', previous).is_some() && previous[0].is_ascii_alphabetic();
    let plain = classed || WORDS.iter().any(|word| is_word(previous, word));
    plain && (!is_word(previous, b"error") || !after.first().is_some_and(u8::is_ascii_lowercase))
}

/// Returns whether the text begins with the reason phrase of a status.
pub(super) fn is_reason_phrase(after: &[u8]) -> bool {
    const REASONS: &[&[u8]] = &[
        b"Unauthorized", b"Forbidden", b"Too Many", b"Bad Gateway", b"Service Unavail",
        b"Gateway Time", b"Internal Server", b"Not Found", b"Client Error", b"Server Error",
        b"Payment Required", b"Bad Request", b"Conflict", b"Request Time", b"Proxy Auth",
        b"Unprocessable", b"Method Not", b"Gone", b"status code",
    ];
    REASONS.iter().any(|reason| {
        after.len() >= reason.len() && after[..reason.len()].eq_ignore_ascii_case(reason)
    })
}

/// Returns whether a token is a SQL state: two characters of class, three of subclass.
pub(super) fn is_sql_state(token: &[u8]) -> bool {
    token.len() == 5
        && token[0].is_ascii_digit()
        && token[1].is_ascii_alphanumeric()
        && token.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

pub(super) fn is_word(found: &[u8], wanted: &[u8]) -> bool {
    found.eq_ignore_ascii_case(wanted)
}

pub(super) fn parse_small_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |value, b| b.is_ascii_digit().then(|| value * 10 + u32::from(b - b'0')))
}

/// Returns whether a token is an error name in capitals: `ECONNREFUSED`, `EAI_AGAIN`, `E401`,
/// `PERMISSION_DENIED`.
pub(super) fn is_capitals(token: &[u8]) -> bool {
    token.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

/// Returns whether a token is an error name in camel case: `AccessDenied`, `NotFound`.
pub(super) fn is_camel_case(token: &[u8]) -> bool {
    token.first().is_some_and(u8::is_ascii_uppercase)
        && token.len() >= 6
        && token.iter().all(u8::is_ascii_alphanumeric)
        && token.iter().any(u8::is_ascii_lowercase)
}

/// Returns whether the line contains `line 3`, or `(3:5)` at its end.
pub(super) fn speaks_of_line(line: &[u8]) -> bool {
    if ends_with_place(line) {
        return true;
    }
    let numbered =
        |rest: &[u8]| matches!(rest, [b' ', b'0'..=b'9', ..] | [b':', b' ', b'0'..=b'9', ..]);
    line.strip_prefix(b"Line").is_some_and(numbered)
        || memchr::memchr_iter(b'l', line)
            .any(|at| line[at..].strip_prefix(b"line").is_some_and(numbered))
}

/// Returns whether a file that the line names can be what is missing or denied, rather than the place.
pub(super) fn speaks_of_missing(line: &[u8]) -> bool {
    const SIGNS: &[&[u8]] = &[
        b"o such file", b"ot found", b"denied", b" open", b" find ", b" read ", b" load", b"exist",
        b"issing", b" import", b" require", b" include", b"onflict", b" locked",
    ];
    SIGNS.iter().any(|sign| memchr::memmem::find(line, sign).is_some())
}

/// Returns whether a line ends with line and column, as parsers of JavaScript write them: `text (3:5)`.
pub(super) fn ends_with_place(line: &[u8]) -> bool {
    let Some(inner) = line.strip_suffix(b")") else { return false };
    let column = inner.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let Some(inner) = inner[..inner.len() - column].strip_suffix(b":") else { return false };
    let row = inner.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    column > 0 && row > 0 && inner[..inner.len() - row].ends_with(b"(")
}

/// Strips the suggestion at the end of a line: it depends on names that do not matter.
pub(super) fn strip_suggestion(line: &[u8]) -> &[u8] {
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

/// Returns the end of the word before a path: `refused:../crypto/a.c`.
pub(super) fn word_before_path(token: &[u8]) -> Option<usize> {
    let at = memchr::memchr(b':', token)?;
    let opens =
        matches!(&token[at + 1..], [b'.', b'.' | b'/', ..] | [b'/', b'a'..=b'z' | b'A'..=b'Z', ..]);
    (at > 1 && opens && token[..at].iter().all(u8::is_ascii_alphabetic)).then_some(at)
}

/// Returns the length of plain arguments directly after a name: `(integer, text)`. `file(s)` is not a call.
pub(super) fn call_len(after: &[u8]) -> Option<usize> {
    const BYTES_MAX: usize = 60;
    let inner = after.strip_prefix(b"(")?;
    let close = memchr::memchr(b')', &inner[..inner.len().min(BYTES_MAX)])?;
    let arguments = &inner[..close];
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b',' | b' ' | b'.' | b'*');
    (arguments != b"s" && arguments.iter().all(plain)).then_some(close + 2)
}

const fn separates_tokens(byte: u8) -> bool {
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

/// Returns whether a byte is a delimiter between tokens. Uses a table, because every byte is looked up.
pub(super) fn is_delimiter(byte: u8) -> bool {
    DELIMITERS[usize::from(byte)]
}

/// Returns whether a byte ends a token.
pub(super) fn ends_token(byte: u8) -> bool {
    ENDS[usize::from(byte)]
}

static DELIMITERS: [bool; 256] = build_byte_table(false);
static ENDS: [bool; 256] = build_byte_table(true);

const fn build_byte_table(or_space: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = separates_tokens(byte) || (or_space && byte.is_ascii_whitespace());
        if byte == u8::MAX {
            return table;
        }
        byte += 1;
    }
}

//! The shape of a token: a number, a path, an address, a random string, or a word.

use super::place;

/// The shape of a token, which decides which part of it identifies the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenShape {
    /// Prose or an identifier: kept.
    Word,
    /// A plain number, a version, a time, a size: masked unless the context gives it a meaning.
    Number,
    /// An address, hash, identifier or temporary name without meaning: masked.
    Random,
    /// A path: its base name is kept.
    Path,
    /// A location: masked as a whole.
    Location,
    /// A web address: host, port and path are kept.
    Url,
    /// A network address with an optional port.
    Ip,
    /// A host name with a port.
    HostPort,
}

/// Returns the shape of a token.
pub(crate) fn classify_token(token: &[u8]) -> TokenShape {
    let first = token[0];
    let has_digit = token.iter().any(u8::is_ascii_digit);
    if token.len() > 6
        && let Some(at) = memchr::memchr(b'*', token)
        && token[at..].starts_with(b"***")
    {
        // A redacted secret.
        return TokenShape::Random;
    }
    if has_digit {
        if first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'v' | b'#' | b'.' | b'~' | b':')
        {
            if is_ip(token) {
                return TokenShape::Ip;
            }
            if is_number(token) {
                return TokenShape::Number;
            }
        }
        if memchr::memchr2(b'/', b'\\', token).is_none() && is_random(token) {
            return TokenShape::Random;
        }
    }
    if memchr::memchr2(b'/', b'\\', token).is_some() {
        return classify_slashed(token);
    }
    if has_digit && let Some(at) = memchr::memchr(b':', token) {
        return classify_with_colon(token, at);
    }
    TokenShape::Word
}

fn classify_slashed(token: &[u8]) -> TokenShape {
    if memchr::memmem::find(token, b"://").is_some() {
        return TokenShape::Url;
    }
    if token.first() == Some(&b'@') || is_hosted(token) {
        return TokenShape::Word;
    }
    match memchr::memchr(b':', token) {
        Some(at) if at > 1 && token.get(at + 1).is_some_and(u8::is_ascii_digit) => {
            TokenShape::Location
        }
        _ => TokenShape::Path,
    }
}

/// Returns whether a token is a module or an image rather than a file: `github.com/a/b`.
fn is_hosted(token: &[u8]) -> bool {
    let head = token.split(|b| *b == b'/').next().unwrap_or(token);
    let dot = memchr::memrchr(b'.', head);
    dot.is_some_and(|dot| dot > 0 && head.len() - dot > 2 && head[0].is_ascii_alphanumeric())
}

/// Returns the shape of a token with a colon: `a.rs:3` is a location, `db:5432` is a peer, `psql:a.sql:3` is
/// a location after a program.
fn classify_with_colon(token: &[u8], at: usize) -> TokenShape {
    let head = &token[..at];
    let tail = &token[at + 1..];
    if let Some(next) = memchr::memchr(b':', tail)
        && place::is_file(&tail[..next])
        && tail.get(next + 1).is_some_and(u8::is_ascii_digit)
    {
        return TokenShape::Location;
    }
    if head.is_empty() || !tail.first().is_some_and(u8::is_ascii_digit) {
        return TokenShape::Word;
    }
    if place::is_file(head) {
        return TokenShape::Location;
    }
    if tail.iter().all(u8::is_ascii_digit) { TokenShape::HostPort } else { TokenShape::Word }
}

/// Returns whether a token is a network address: `127.0.0.1`, `10.0.0.1:8080`, `::1`, `fe80::1`.
pub(crate) fn is_ip(token: &[u8]) -> bool {
    let host = match memchr::memchr(b':', token) {
        Some(at) if memchr::memchr(b'.', &token[..at]).is_some() => &token[..at],
        Some(_) => return is_ip6(token),
        None => token,
    };
    let mut parts = 0;
    for part in host.split(|b| *b == b'.') {
        if part.is_empty() || part.len() > 3 || !part.iter().all(u8::is_ascii_digit) {
            return false;
        }
        parts += 1;
    }
    parts == 4
}

fn is_ip6(token: &[u8]) -> bool {
    memchr::memmem::find(token, b"::").is_some()
        && token.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
}

/// Returns whether a token is a number: `12`, `-3.5`, `1,234`, `12ms`, `64KiB`, `50%`, `v1.2.3-rc1`,
/// `12:30:05`, `2026-11-15`, `3x4`.
fn is_number(token: &[u8]) -> bool {
    let body = token.strip_prefix(b"v").unwrap_or(token);
    let numeric = |b: &u8| {
        b.is_ascii_digit()
            || matches!(b, b'.' | b',' | b':' | b'-' | b'+' | b'/' | b'%' | b'#' | b'~')
    };
    let end = body.iter().position(|b| !numeric(b)).unwrap_or(body.len());
    if !body[..end].iter().any(u8::is_ascii_digit) {
        return false;
    }
    let suffix = &body[end..];
    if suffix.is_empty() || is_unit(suffix) {
        return true;
    }
    let digits = body.iter().filter(|b| b.is_ascii_digit()).count();
    // A version with a tag, a timestamp, or a number in another base.
    let dotted = body[..end].contains(&b'.') || body[..end].contains(&b'-') || token[0] == b'v';
    match suffix[0] {
        b'x' | b'X' => suffix[1..].iter().all(u8::is_ascii_hexdigit) && suffix.len() > 1,
        b'T' | b'Z' => digits >= 8,
        b'e' | b'E' => suffix[1..].iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+')),
        b'a' | b'b' | b'r' | b'd' | b'p' => dotted && suffix.len() <= 12 && digits >= 2,
        _ => false,
    }
}

fn is_unit(suffix: &[u8]) -> bool {
    const UNITS: &[&[u8]] = &[
        b"s", b"ms", b"us", b"ns", b"m", b"h", b"d", b"B", b"b", b"k", b"K", b"KB", b"kB", b"MB",
        b"GB", b"TB", b"KiB", b"MiB", b"GiB", b"kb", b"mb", b"gb", b"M", b"G", b"px", b"x", b"th",
        b"st", b"nd", b"rd", b"sec", b"secs", b"min", b"hrs", b"Mi", b"Gi", b"Ki", b"B/s", b"L",
        b"u",
    ];
    UNITS.contains(&suffix)
}

/// Returns whether a token mixes letters and digits at random: hashes, UUIDs, addresses, request ids,
/// temporary names.
pub(crate) fn is_random(token: &[u8]) -> bool {
    if token.len() < 6 {
        return false;
    }
    if let Some(hex) = token.strip_prefix(b"0x") {
        return hex.iter().all(u8::is_ascii_hexdigit);
    }
    let body = token.split(|b| *b == b'.').next().unwrap_or(token);
    is_hash(body) || is_uuid(body) || is_groups(token) || is_scrambled(body)
}

fn is_hash(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"sha256:").unwrap_or(body);
    body.len() >= 7
        && body.iter().all(u8::is_ascii_hexdigit)
        && body.iter().any(u8::is_ascii_digit)
        && (body.len() >= 12 || body.iter().all(|b| !b.is_ascii_uppercase()))
}

/// Returns whether a token is groups of hexadecimal digits: `8F2A:3B11:1D2C3E`.
fn is_groups(token: &[u8]) -> bool {
    memchr::memchr_iter(b':', token).count() >= 3
        && token.iter().all(|b| b.is_ascii_hexdigit() || *b == b':')
}

fn is_uuid(body: &[u8]) -> bool {
    body.len() == 36
        && body.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Returns whether a name is that of a directory made for a single run: some part of it is a number,
/// hexadecimal, or mixes digits into letters.
pub(crate) fn is_made_up(name: &[u8]) -> bool {
    const LEN_MIN: usize = 4;
    name.split(|b| !b.is_ascii_alphanumeric()).any(|part| {
        let Some(digit) = part.iter().position(u8::is_ascii_digit) else { return false };
        let digits = part.iter().filter(|b| b.is_ascii_digit()).count();
        let mixed = part[digit..].iter().any(u8::is_ascii_alphabetic) || digit == 1;
        let hex = part.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (digits == part.len() && digits > 1) || (part.len() >= LEN_MIN && (mixed || hex))
    })
}

/// Returns whether letters and digits alternate too often for a name.
fn is_scrambled(body: &[u8]) -> bool {
    const LEN_MIN: usize = 10;
    const CHANGES_MIN: usize = 4;
    let kind = |b: u8| u8::from(b.is_ascii_digit()) + 2 * u8::from(b.is_ascii_uppercase());
    body.split(|b| !b.is_ascii_alphanumeric()).any(|run| {
        if run.len() < LEN_MIN || !run.iter().any(u8::is_ascii_digit) {
            return false;
        }
        let pairs = || run.windows(2);
        let digits = pairs().filter(|p| p[0].is_ascii_digit() != p[1].is_ascii_digit()).count();
        let kinds = pairs().filter(|p| kind(p[0]) != kind(p[1])).count();
        // In handwritten names, even `Utf8DecoderStream`, fewer than two in five pairs change.
        digits >= CHANGES_MIN || kinds * 5 >= run.len() * 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_by_their_shape() {
        for (token, expected) in [
            ("42", TokenShape::Number),
            ("-3.5", TokenShape::Number),
            ("12ms", TokenShape::Number),
            ("v1.2.3-rc1", TokenShape::Number),
            ("03:32:29", TokenShape::Number),
            ("0x7ffee", TokenShape::Number),
            ("e29e5c7", TokenShape::Random),
            ("123e4567-e89b-12d3-a456-426614174000", TokenShape::Random),
            ("req_011CO12pVNkykNWkzFcxXJHF", TokenShape::Random),
            ("sk-***********wxyz", TokenShape::Random),
            ("10.0.0.7:49152", TokenShape::Ip),
            ("::1", TokenShape::Ip),
            ("localhost:5432", TokenShape::HostPort),
            ("src/a.rs:3:5", TokenShape::Location),
            ("a.rs:3", TokenShape::Location),
            ("/etc/app.conf", TokenShape::Path),
            ("https://x.example/a", TokenShape::Url),
            ("E0425", TokenShape::Word),
            ("uint33_t", TokenShape::Word),
            ("Utf8DecoderStream", TokenShape::Word),
            ("github.com/a/b", TokenShape::Word),
            ("@scope/pkg", TokenShape::Word),
            ("test_rate_limit_401", TokenShape::Word),
        ] {
            assert_eq!(classify_token(token.as_bytes()), expected, "{token}");
        }
    }
}

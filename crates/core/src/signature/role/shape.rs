//! The shapes of words: exception classes, codes of findings, first words.

use super::super::words::find_part;
use super::LineRole;

/// Returns whether a text can end a stack of frames: a class with any name, and its message.
pub(crate) fn is_raised(text: &[u8]) -> bool {
    let word = first_word(text);
    let named = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':');
    word.len() > 2 && word.iter().all(named) && matches!(&text[word.len()..], [] | [b':', b' ', ..])
}

/// Returns whether a text begins with an exception class.
pub(crate) fn is_exception(text: &[u8]) -> bool {
    let word = first_word(text);
    exception_role(word, &text[word.len()..]).is_some()
}

/// Returns the role of an exception class at the beginning, followed by its message or by nothing.
pub(super) fn exception_role(word: &[u8], after: &[u8]) -> Option<LineRole> {
    let class = word;
    let closes = matches!(after, [] | [b':', ..] | [b' ', b'(' | b'[' | b'-', ..]);
    (closes && is_exception_class(class)).then_some(LineRole::Exception)
}

/// Returns the exception class in parentheses that ends a text: `divided by 0 (ZeroDivisionError)`.
pub(super) fn closing_class(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_suffix(b")")?;
    let class = &inner[memchr::memrchr(b'(', inner)? + 1..];
    let scoped = class.first()?.is_ascii_uppercase() && contains_part(class, b"::");
    (!class.contains(&b' ') && (scoped || is_exception_class(class))).then_some(class)
}

/// Returns whether a word is the name of an exception class: dotted, the last part capitalized.
pub(crate) fn is_exception_class(word: &[u8]) -> bool {
    const ENDINGS: &[&[u8]] = &[
        b"Error",
        b"Exception",
        b"Failure",
        b"Fault",
        b"Expired",
        b"Timeout",
        b"Interrupt",
        b"Exit",
        b"Panic",
        b"Unavailable",
        b"Exceeded",
        b"NotFound",
        b"Denied",
        b"Failed",
        b"TimedOut",
        b"Refused",
        b"Aborted",
        b"Limit",
        b"Unauthorized",
        b"Forbidden",
        b"Unauthenticated",
        b"Err",
    ];
    let last = word.rsplit(|b| matches!(b, b'.' | b':' | b'\\' | b'$')).next().unwrap_or(word);
    if last.len() < 4 {
        return false;
    }
    if last[0].is_ascii_uppercase() {
        let end = last.last();
        let packages = memchr::memchr_iter(b'.', word).count();
        if packages >= 2 && last.iter().any(u8::is_ascii_lowercase) {
            return true;
        }
        return ENDINGS.iter().any(|ending| ending.last() == end && last.ends_with(ending));
    }
    last.len() < word.len()
        && last.ends_with(b"error")
        && last.iter().all(u8::is_ascii_alphanumeric)
}

/// Returns whether a word is a finding's code: `E0425`, `F401`, `TS2304`, `CS0103`, `SC2086`,
/// `invalid-syntax`.
pub(super) fn is_code(word: &[u8]) -> bool {
    // Database clients, build drivers and servers number errors that are not findings about code.
    const OTHERS: &[&[u8]] =
        &[b"P", b"MSB", b"NU", b"NETSDK", b"ORA", b"GH", b"AADSTS", b"HTTP", b"SHA"];
    let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let digits = word[letters..].iter().take_while(|b| b.is_ascii_digit()).count();
    ((1..=6).contains(&letters)
        && digits >= 3
        && letters + digits == word.len()
        && !OTHERS.contains(&&word[..letters]))
        || word == b"invalid-syntax"
}

/// Returns whether a build driver reports on the machine, at a place in its own files: `error MSB3021: Unable
/// to copy`.
pub(super) fn is_driver_message(after_level: &[u8]) -> bool {
    const DRIVERS: &[&[u8]] = &[b"MSB", b"NU", b"NETSDK"];
    let word = first_word(after_level.trim_ascii_start());
    let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
    DRIVERS.contains(&&word[..letters]) && word[letters..].iter().all(u8::is_ascii_digit)
}

/// Returns the first word: up to a space, a colon that ends a word, or a bracket.
pub(super) fn first_word(text: &[u8]) -> &[u8] {
    let mut end = 0;
    while end < text.len() {
        match text[end] {
            b' ' | b'\t' | b'[' | b']' | b'(' | b',' | b'!' | b'=' | b'\'' | b'"' | b'`' => break,
            b':' if text.get(end + 1) != Some(&b':') && (end == 0 || text[end - 1] != b':') => {
                break;
            }
            _ => end += 1,
        }
    }
    &text[..end]
}

/// Returns whether a text starts with any of these. Compares the first byte first, because most lists do not
/// apply to most lines.
pub(super) fn starts_with_any(text: &[u8], openings: &[&[u8]]) -> bool {
    let Some(first) = text.first() else { return false };
    openings.iter().any(|opening| opening.first() == Some(first) && text.starts_with(opening))
}

pub(super) fn contains_part(text: &[u8], part: &[u8]) -> bool {
    find_part(text, part).is_some()
}

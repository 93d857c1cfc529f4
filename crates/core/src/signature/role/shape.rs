//! The shapes of words and messages: exception classes, codes of findings, counts, and messages that do not name
//! their subject.

use super::super::words::{self, ACUTE, NEGATION, find_part};
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
        b"Error", b"Exception", b"Failure", b"Fault", b"Expired", b"Timeout", b"Interrupt",
        b"Exit", b"Panic", b"Unavailable", b"Exceeded", b"NotFound", b"Denied", b"Failed",
        b"TimedOut", b"Refused", b"Aborted", b"Limit", b"Unauthorized", b"Forbidden",
        b"Unauthenticated", b"Err",
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

/// Returns whether a count follows the number: `3 errors`, `1 failed`, `2 problems (2 errors)`.
pub(super) fn is_count(after: &[u8]) -> bool {
    const COUNTED: &[&[u8]] = &[
        b"error", b"fail", b"passed", b"warning", b"problem", b"passing", b"pending", b"test",
        b"example", b"fixable", b"issue", b"spec", b"suite", b"file", b"skipped", b"more",
        b"package", b"vulnerabilit", b"feature", b"scenario", b"step", b"run", b"assertion",
        b"item",
    ];
    starts_with_any(after, COUNTED)
}

/// Returns whether a message reports something missing without naming it: `Undefined variable.`, `collection
/// not found`.
pub(crate) fn lacks_name(text: &[u8]) -> bool {
    const BYTES_MAX: usize = 48;
    const MISSING: &[&[u8]] = &[
        b"ndefined ", b"ndeclared ", b"nresolved ", b"nknown ", b"not found", b"not find ",
        b"n't find ", b"not defined", b"not resolve",
    ];
    text.len() <= BYTES_MAX
        && is_sentence(text)
        && MISSING.iter().any(|missing| contains_part(text, missing))
}

/// Returns whether a message reports a failure without distinguishing it from any other: `Error on command
/// line; for help try 'x -h'`.
pub(crate) fn says_nothing(text: &[u8]) -> bool {
    const BYTES_MAX: usize = 60;
    let said = text.split(|b| matches!(b, b';' | b'(' | b'!')).next().unwrap_or(text);
    said.len() <= BYTES_MAX
        && is_sentence(said.trim_ascii_end())
        && words::line_hints(said) & (NEGATION | ACUTE) == 0
}

/// Returns whether a text is plain words after a level, none of which can be a name.
fn is_sentence(text: &[u8]) -> bool {
    let said = [b"error: ".as_slice(), b"Error: ", b"ERROR: "]
        .iter()
        .find_map(|level| text.strip_prefix(*level))
        .unwrap_or(text);
    let said = said.strip_suffix(b".").or_else(|| said.strip_suffix(b":")).unwrap_or(said);
    said.split(|b| *b == b' ').all(is_prose)
}

/// Returns whether a word is part of a sentence: letters, lower case after the first, perhaps with an
/// apostrophe.
fn is_prose(word: &[u8]) -> bool {
    let small = |b: &u8| b.is_ascii_lowercase() || *b == b'\'';
    match word {
        [] => true,
        [first, rest @ .., last] => {
            first.is_ascii_alphabetic() && rest.iter().all(small) && last.is_ascii_lowercase()
        }
        [one] => one.is_ascii_alphabetic(),
    }
}

/// Returns the part of an echoed line that the carets on the next line mark.
pub(crate) fn marked_source<'a>(source: &'a [u8], marks: &[u8]) -> Option<&'a [u8]> {
    const MARKS_MIN: usize = 2;
    let first = memchr::memchr(b'^', marks)?;
    let last = memchr::memrchr(b'^', marks)?;
    let only_marks = marks[first..=last].iter().all(|b| *b == b'^');
    if !only_marks || last - first + 1 < MARKS_MIN {
        return None;
    }
    source.get(first..=last).map(<[u8]>::trim_ascii)
}

/// Returns whether an exception only counts the lines below: `ValidationError: 2 validation errors for
/// Order`.
pub(crate) fn counts_errors(text: &[u8]) -> bool {
    const WORDS_MAX: usize = 3;
    let Some(at) = memchr::memmem::find(text, b": ") else { return false };
    let said = &text[at + 2..];
    let digits = said.iter().take_while(|b| b.is_ascii_digit()).count();
    digits > 0
        && said[digits..]
            .split(|b| *b == b' ')
            .take(WORDS_MAX)
            .any(|word| matches!(word, b"error" | b"errors" | b"problems" | b"issues"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_name_is_told_from_one_with_it() {
        for text in ["Undefined variable.", "Error: Can't find stylesheet to import."] {
            assert!(lacks_name(text.as_bytes()), "{text}");
        }
        for text in ["Undefined variable: total", "'a' not found", "syntax error", "a_b not found"]
        {
            assert!(!lacks_name(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_sentence_without_a_name_tells_nothing() {
        assert!(says_nothing(b"Error on command line; for help try 'x -h'"));
        assert!(!says_nothing(b"Unknown option: total"));
        assert!(!says_nothing(b"This is an unexpected use of the statement."));
        assert!(!says_nothing(b"error: cannot open 'a'"));
    }

    #[test]
    fn carets_mark_a_part_of_the_source() {
        let source = b"12 | a { color: $total; }";
        assert_eq!(marked_source(source, b"   |            ^^^^^^").unwrap(), b"$total");
        assert_eq!(marked_source(source, b"   |            ^"), None);
        assert_eq!(marked_source(b"", b"   ^^^^"), None);
    }

    #[test]
    fn an_exception_may_only_count() {
        assert!(counts_errors(b"x.ValidationError: 2 validation errors for Order"));
        assert!(counts_errors(b"GroupError: 3 errors"));
        assert!(!counts_errors(b"ValueError: 3 is not a valid error"));
        assert!(!counts_errors(b"ValueError: bad"));
    }
}

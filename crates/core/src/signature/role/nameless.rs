//! Messages that do not name their subject: the name is below, or is marked in the source.

use super::super::words::{self, ACUTE, NEGATION};
use super::shape::contains_part;

/// Returns whether a message reports something missing without naming it: `Undefined variable.`, `collection
/// not found`.
pub(crate) fn lacks_name(text: &[u8]) -> bool {
    const BYTES_MAX: usize = 48;
    const MISSING: &[&[u8]] = &[
        b"ndefined ",
        b"ndeclared ",
        b"nresolved ",
        b"nknown ",
        b"not found",
        b"not find ",
        b"n't find ",
        b"not defined",
        b"not resolve",
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

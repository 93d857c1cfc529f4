//! Failing tests: the name, without its file, its duration and the message.

use super::LineRole;
use super::place;
use super::shape::contains_part;
use super::spoken::{classify_spoken, is_summary};

/// Returns a failing test by name. A file alone is a location, and a count is a summary.
pub(super) fn classify_failing_test(text: &[u8]) -> (LineRole, &[u8]) {
    let rest = match memchr::memchr2(b' ', b'\t', text) {
        Some(at) => text[at + 1..].trim_ascii_start(),
        None => text,
    };
    let name = failing_name(rest);
    let opens_count = name.first() == Some(&b'(');
    if opens_count || place::is_file(name.split(|b| *b == b' ').next().unwrap_or(name)) {
        return (LineRole::Summary, text);
    }
    (LineRole::Test, name)
}

/// Returns the test's name without its file, and without the message, which is cut to the terminal's width:
/// `tests/a.py::test_x - assert …`, `a.ts > cart > adds`, `test_x (tests.test_a.Case.test_x)`.
fn failing_name(rest: &[u8]) -> &[u8] {
    let name = &rest[..memchr::memmem::find(rest, b" - ").unwrap_or(rest.len())];
    if let Some(at) = memchr::memmem::find(name, b"::") {
        return &name[at + 2..];
    }
    if let Some(at) = memchr::memmem::find(name, b" > ")
        && place::is_file(&name[..at])
    {
        return &name[at + 3..];
    }
    match memchr::memmem::find(name, b" (") {
        Some(at) if name.ends_with(b")") => {
            let path = &name[at + 2..name.len() - 1];
            let last = memchr::memrchr(b'.', path).unwrap_or(0);
            let class = memchr::memrchr(b'.', &path[..last]).map_or(0, |dot| dot + 1);
            &path[class..]
        }
        _ => name,
    }
}

/// Returns the role of a line after a cross: a heavy one marks a failing test, a light one also any other
/// failure.
pub(super) fn classify_crossed(text: &[u8], heavy: bool) -> (LineRole, &[u8]) {
    if is_summary(text)
        || [b"error".as_slice(), b"failed"].iter().any(|w| text.eq_ignore_ascii_case(w))
    {
        return (LineRole::Summary, text);
    }
    if let Some(name) = name_before_duration(text) {
        return (LineRole::Test, name);
    }
    let (role, text) = classify_spoken(text);
    match role {
        LineRole::Said if text.starts_with(b"[") || contains_part(text, b": ") => {
            (LineRole::Said, text)
        }
        _ if contains_part(text, b" > ") => (LineRole::Test, text),
        LineRole::Weak | LineRole::Acute => (LineRole::Said, text),
        _ if is_sentence(text) => (LineRole::Said, text),
        _ if heavy => (LineRole::Test, text),
        role => (role, text),
    }
}

/// Returns whether a text is a sentence, since the name of a test has no full stop: `Pull the changes first.`
fn is_sentence(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_uppercase)
        && text.ends_with(b".")
        && text.iter().filter(|b| **b == b' ').nth(1).is_some()
}

/// Returns the name before the duration: `adds numbers (5 ms)`, `cart > adds 3ms`.
fn name_before_duration(text: &[u8]) -> Option<&[u8]> {
    let body = text.strip_suffix(b")").unwrap_or(text);
    let body = body.strip_suffix(b"ms").or_else(|| body.strip_suffix(b"s"))?.trim_ascii_end();
    let digits = body.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let name = body[..body.len() - digits].trim_ascii_end();
    let name = name.strip_suffix(b"(").unwrap_or(name).trim_ascii_end();
    (digits > 0 && !name.is_empty()).then_some(name)
}

/// Strips the ordinal: `3 - the name`.
pub(super) fn after_ordinal(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text[digits..].trim_ascii_start();
    rest.strip_prefix(b"- ").unwrap_or(rest)
}

/// Returns the role of a result line: `test a::b ... FAILED`.
pub(super) fn classify_test_result(rest: &[u8]) -> Option<(LineRole, &[u8])> {
    if let Some(name) = rest.strip_suffix(b" ... FAILED") {
        return Some((LineRole::Test, name));
    }
    if rest.starts_with(b"result: ") {
        return Some((LineRole::Summary, rest));
    }
    (rest.ends_with(b" ... ok") || rest.ends_with(b" ... ignored"))
        .then_some((LineRole::Progress, rest))
}

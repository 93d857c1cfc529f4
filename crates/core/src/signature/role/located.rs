//! Lines after a location: findings, and an interpreter's messages about the statement it runs.

use super::super::words::{self, ACUTE, ERROR, FAIL, NEGATION, NOTE, PROGRESS, WARNING};
use super::LineRole;
use super::shape::{
    closing_class, contains_part, first_word, is_code, is_driver_message, is_exception_class,
};

/// Returns the role of the text after a location: a level, a code, a class or the finding itself.
pub(super) fn classify_located(rest: &[u8]) -> (LineRole, &[u8]) {
    let word = first_word(rest);
    let after = &rest[word.len()..];
    // Ruby's frames end with the method they are in.
    if (rest.starts_with(b"in `") || rest.starts_with(b"in '")) && rest.ends_with(b"'") {
        return (LineRole::Frame, rest);
    }
    if let Some(twice) = strip_other_definition(rest) {
        return (LineRole::Finding, twice);
    }
    if rest.is_empty()
        || rest.starts_with(b"in ")
        || rest.starts_with(b"In ")
        || rest.starts_with(b"from ")
    {
        return (LineRole::Echo, rest);
    }
    if word.ends_with(b"Warning") {
        return (LineRole::Warning, rest);
    }
    if after.is_empty() && is_exception_class(word) {
        return (LineRole::Echo, rest);
    }
    // `a.go:6:2: example.com/x: Get "https://…": …`: an import could not be fetched.
    if contains_part(rest, b": Get \"http") {
        return (LineRole::Said, rest);
    }
    let hint = words::word_hints(word);
    if hint & WARNING != 0 {
        return (LineRole::Warning, rest);
    }
    if hint & (NOTE | PROGRESS) != 0 && after.first() == Some(&b':') {
        return (LineRole::Note, rest);
    }
    if hint & ERROR != 0 {
        let role = if is_driver_message(after) { LineRole::Said } else { LineRole::Finding };
        return (role, rest);
    }
    if closing_class(rest).is_some() {
        return (LineRole::Exception, rest);
    }
    let found = words::line_hints(rest);
    if found & (ERROR | FAIL | NEGATION | ACUTE) != 0 || is_code(word) {
        return (LineRole::Finding, rest);
    }
    (LineRole::Weak, rest)
}

/// Returns `multiple definition of 'f'; /tmp/b.o:b.c:(.text+0x0): first defined here` without the other
/// place.
fn strip_other_definition(rest: &[u8]) -> Option<&[u8]> {
    let named = rest.starts_with(b"multiple definition of ");
    named.then(|| rest.split(|b| *b == b';').next().unwrap_or(rest))
}

/// Returns the role of an interpreter's message about the statement it runs, which concerns the command and
/// not the code.
pub(super) fn classify_running(rest: &[u8]) -> LineRole {
    let hint = words::word_hints(first_word(rest));
    match hint {
        _ if rest.is_empty() => LineRole::Echo,
        _ if is_death(rest) => LineRole::Death,
        hint if hint & WARNING != 0 => LineRole::Warning,
        hint if hint & (NOTE | PROGRESS) != 0 => LineRole::Note,
        _ => LineRole::Said,
    }
}

/// Returns whether a shell reports how a process died: `6670 Segmentation fault      ./app`.
fn is_death(rest: &[u8]) -> bool {
    const WAYS: &[&[u8]] = &[
        b"Aborted",
        b"Segmentation fault",
        b"Killed",
        b"Bus error",
        b"Illegal instruction",
        b"Floating point exception",
        b"Terminated",
        b"Trace/breakpoint trap",
    ];
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let way = rest[digits..].trim_ascii_start();
    digits > 0 && WAYS.iter().any(|known| way.starts_with(known))
}

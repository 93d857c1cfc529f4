//! Lines recognized by their beginning, whatever their words, among them failing tests.

use super::shape::{contains_part, is_exception};
use super::spoken::{classify_spoken, is_summary};
use super::{LineRole, place};

/// Returns the role of a line that is recognized by its beginning.
pub(super) fn classify_by_opening(
    first: u8,
    text: &[u8],
    indent: usize,
) -> Option<(LineRole, &[u8])> {
    let starts = |with: &[u8]| text.starts_with(with);
    let found = match first {
        b'F' if starts(b"File \"") && contains_part(text, b"\", line ") => (LineRole::Frame, text),
        b'F' if starts(b"FAILED ")
            || starts(b"FAIL ")
            || starts(b"FAIL\t")
            || starts(b"FAIL: ") =>
        {
            classify_failing_test(text)
        }
        b'F' if starts(b"For more info") || starts(b"For further info") || starts(b"Found ") => {
            (LineRole::Summary, text)
        }
        b'T' if starts(b"Traceback (most") => (LineRole::Frame, text),
        b'T' if starts(b"The above exception") => (LineRole::Echo, text),
        b'T' if starts(b"To ") => (LineRole::Progress, text),
        b'D' if starts(b"During handling of") => (LineRole::Echo, text),
        b'D' if starts(b"Did you mean") => (LineRole::Note, text),
        b'S' if starts(b"Some errors have") => (LineRole::Summary, text),
        b'P' if starts(b"Process completed with exit") => (LineRole::Note, text),
        b'O' if starts(b"On branch ") => (LineRole::Progress, text),
        b'N' if starts(b"Node.js v") => (LineRole::Echo, text),
        b'C' if text == b"Caused by:" => (LineRole::CausesFollow, text),
        b'C' if starts(b"Caused by: ") => {
            let cause = &text[11..];
            let raised = is_exception(cause);
            return Some((if raised { LineRole::Exception } else { LineRole::Said }, cause));
        }
        b'C' if starts(b"CONFLICT") => (LineRole::Said, text),
        b'a' if starts(b"at ") && is_frame(&text[3..], indent) => (LineRole::Frame, text),
        b'f' if starts(b"from ") && contains_part(text, b":in ") => (LineRole::Frame, text),
        b'f' if starts(b"failures:") => (LineRole::Summary, text),
        b'g' if starts(b"goroutine ") => (LineRole::Frame, text),
        b'n' if starts(b"not ok ") => (LineRole::Test, after_ordinal(&text[7..])),
        b'n' if starts(b"node:internal") => (LineRole::Frame, text),
        b's' if starts(b"symbol:") && indent > 0 => (LineRole::Label, text),
        b'r' if (starts(b"required:") || starts(b"reason:")) && indent > 0 => {
            (LineRole::Label, text)
        }
        b'f' if starts(b"found:") && indent > 0 => (LineRole::Label, text),
        b't' if starts(b"terminate called") => (LineRole::Exception, text),
        b'w' if starts(b"what():") => (LineRole::Exception, text),
        b's' | b'S' | b'r' | b'B' | b'C' | b'w' | b'i' | b'(' if opens_stack(first, text) => {
            (LineRole::Frame, text)
        }
        b'e' if starts(b"error: called from") => (LineRole::Frame, text),
        b't' if starts(b"test ") => return classify_test_result(&text[5..]),
        b't' if starts(b"thread '") && contains_part(text, b"panicked at") => classify_panic(text),
        b'x' | b'X' if text.len() > 3 && text[1] == b' ' => {
            return Some(classify_crossed(text[2..].trim_ascii_start(), first == b'X'));
        }
        b'o' if starts(b"ok ") => (LineRole::Progress, text),
        b'[' if starts(b"[  FAILED  ] ") => {
            let name = &text[13..];
            (LineRole::Test, name.split(|b| *b == b' ').next().unwrap_or(name))
        }
        b'E' if starts(b"E   ") => (LineRole::TestDetail, text[1..].trim_ascii_start()),
        b'E' if starts(b"ERROR: test") && text.ends_with(b")") => classify_failing_test(text),
        b'E' if starts(b"Error in ") && contains_part(text, b") : ") => (LineRole::Exception, text),
        b'E' if starts(b"ERROR collecting") => (LineRole::Echo, text),
        b'E' if starts(b"ERROR ") && names_test(&text[6..]) => classify_failing_test(text),
        b'F' if starts(b"Failing test case: ") || starts(b"Falsifying example: ") => {
            (LineRole::Test, called_name(text))
        }
        b'a'..=b'z' if text.last() == Some(&b'!') && text.ends_with(b" aborted!") => {
            (LineRole::StatementFollows, text)
        }
        b'c' if starts(b"code: '") => (LineRole::Acute, text),
        b'n' if starts(b"npm ERR! ") || starts(b"npm error ") => {
            return Some(classify_npm(&text[9..]));
        }
        b'n' if starts(b"npm WARN") || starts(b"npm warn") => (LineRole::Warning, text),
        b'n' if starts(b"npm notice") => (LineRole::Note, text),
        _ => return None,
    };
    Some(found)
}

/// Returns whether a test or its file follows the level: `tests/test_a.py`, `test_a.py::test_x - …`.
fn names_test(rest: &[u8]) -> bool {
    let name = rest.trim_ascii_start().split(|b| *b == b' ').next().unwrap_or(rest);
    // After the level of a log comes a module: `ERROR shop::cart: text`.
    (contains_part(name, b"::") && !name.ends_with(b":")) || name.ends_with(b".py")
}

/// Returns the name in `title: name(arguments`.
fn called_name(text: &[u8]) -> &[u8] {
    let name = memchr::memmem::find(text, b": ").map_or(text, |at| &text[at + 2..]);
    name.split(|b| *b == b'(').next().unwrap_or(name)
}

/// Returns whether a line is the heading of a stack, or ends an entry of one.
fn opens_stack(first: u8, text: &[u8]) -> bool {
    const HEADINGS: &[&[u8]] = &[
        b"stack backtrace:", b"stack traceback:", b"Stack trace:", b"runtime stack:", b"Backtrace",
        b"Call history:", b"Call stack:", b"while executing", b"invoked from within", b"(file \"",
        b"(procedure \"",
    ];
    HEADINGS.iter().any(|heading| heading[0] == first && text.starts_with(heading))
}

fn classify_npm(rest: &[u8]) -> (LineRole, &[u8]) {
    let rest = rest.trim_ascii();
    if rest.starts_with(b"A complete log") || rest.starts_with(b"Log files") || is_file_only(rest) {
        return (LineRole::Note, rest);
    }
    if rest.is_empty() {
        return (LineRole::Blank, rest);
    }
    if rest.starts_with(b"at ") {
        return (LineRole::Frame, rest);
    }
    (LineRole::Said, rest)
}

fn is_file_only(text: &[u8]) -> bool {
    text.first() == Some(&b'/') && !text.contains(&b' ')
}

/// Returns whether a line is a frame of JavaScript, Java, C# or a Rust backtrace.
fn is_frame(after: &[u8], indent: usize) -> bool {
    indent > 0
        && (after.contains(&b'(')
            || after.contains(&b':')
            || after.contains(&b'/')
            || !after.contains(&b' '))
}

/// Returns the message of a panic. Older toolchains put it between quotes on the same line.
fn classify_panic(text: &[u8]) -> (LineRole, &[u8]) {
    let Some(at) = memchr::memmem::find(text, b"panicked at '") else {
        return (LineRole::MessageFollows, text);
    };
    let message = &text[at + 13..];
    match memchr::memmem::rfind(message, b"', ") {
        Some(end) => (LineRole::Exception, &message[..end]),
        None => (LineRole::Exception, message),
    }
}

/// Returns a failing test by name. A file alone is a location, and a count is a summary.
fn classify_failing_test(text: &[u8]) -> (LineRole, &[u8]) {
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
fn classify_crossed(text: &[u8], heavy: bool) -> (LineRole, &[u8]) {
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
fn after_ordinal(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text[digits..].trim_ascii_start();
    rest.strip_prefix(b"- ").unwrap_or(rest)
}

/// Returns the role of a result line: `test a::b ... FAILED`.
fn classify_test_result(rest: &[u8]) -> Option<(LineRole, &[u8])> {
    if let Some(name) = rest.strip_suffix(b" ... FAILED") {
        return Some((LineRole::Test, name));
    }
    if rest.starts_with(b"result: ") {
        return Some((LineRole::Summary, rest));
    }
    (rest.ends_with(b" ... ok") || rest.ends_with(b" ... ignored"))
        .then_some((LineRole::Progress, rest))
}

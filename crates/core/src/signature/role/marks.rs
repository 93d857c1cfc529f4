//! Lines that begin with a mark or a number: gutters, rulers, bullets, diffs, prompts.

use super::Role;
use super::shape::{contains, first_word, is_code, is_exception, starts_with_any};
use super::spoken::spoken;

/// Returns the role of a line that begins with a mark.
pub(super) fn by_mark(first: u8, text: &[u8], indent: usize) -> Option<(Role, &[u8])> {
    let found = match first {
        b'0'..=b'9' => return by_number(text),
        b'|' => return Some(gutter(&text[1..])),
        b'^' | b'~' => caret(text),
        b'%' => (Role::Echo, text),
        b'(' if text.starts_with(b"(node:") => (Role::Warning, text),
        b'(' if text.starts_with(b"(Use ") || text.starts_with(b"(See ") => (Role::Note, text),
        b'(' if text.starts_with(b"(fail) ") => {
            let name = &text[7..];
            (Role::Test, &name[..memchr::memrchr(b'[', name).unwrap_or(name.len())])
        }
        b'-' => match text {
            [b'-', b'-', b'>', ..] => (Role::Echo, text),
            [b'-', b'-', b'-', b' ', rest @ ..] => dashed(rest),
            [b'-', b' ', rest @ ..] if indent > 0 => return Some(item(rest)),
            [b'-', b'-', ..] if indent > 0 => (Role::Echo, text),
            _ => return ruler(text),
        },
        b',' if text.starts_with(b",-[") => (Role::Echo, text),
        b'=' => match text {
            [b'=', b'=', b'>', b' ', rest @ ..] => match spoken(rest) {
                (Role::Plain, rest) => (Role::Progress, rest),
                found => found,
            },
            // A compiler passes on its linker's message about the full disk.
            [b'=', b' ', ..] if text.ends_with(b"No space left on device") => (Role::Said, text),
            [b'=', b' ', ..] => (Role::Note, text),
            [b'=', b'=', b' ', b'[', ..] => (Role::Echo, text),
            _ if contains(text, b"=> ") => return Some(arrow(text)),
            _ => return ruler(text),
        },
        b'_' | b'.' => return ruler(text),
        b'+' if indent == 0 || matches!(text, [b'+', b'+' | b' ', ..]) => (Role::Echo, text),
        b'>' => match text {
            [b'>', b' ', b'0'..=b'9', ..] => (Role::Echo, text),
            [b'>', b' ', rest @ ..] if indent > 0 => return Some(spoken(rest)),
            [b'>', b' ', b'A'..=b'Z' | b'e', ..] => return Some(caused(&text[2..])),
            [b'>', b'>', b' ', rest @ ..] if rest.starts_with(b"Issue: ") => (Role::Finding, rest),
            _ => (Role::Echo, text),
        },
        b'*' => match text {
            [b'*', b' ', b' ', rest @ ..] if contains(rest, b" > ") => (Role::Test, rest),
            [b'*', b' ', ..] if contains(text, b"went wrong:") => (Role::StatementFollows, text),
            [b'*', b' ', rest @ ..] => return Some(bulleted(rest)),
            [b'*', b'*', b' ', b'(', rest @ ..] => (Role::Exception, rest),
            [b'*', b'*', b'*', b' ', b'[', ..] => (Role::Summary, text),
            [b'*', b'*', b'*', b' ', rest @ ..] => return Some(spoken(rest)),
            [b'*', b'*', b'*', ..] => (Role::Summary, text),
            _ => return None,
        },
        b'@' if text.starts_with(b"@ERROR: ") => return Some(spoken(&text[1..])),
        b'!' => match text {
            [b'!', b' ', b'[', ..] => (Role::Said, text),
            _ => return None,
        },
        b'#' => match text {
            [b'#', b'0'..=b'9', ..] => (Role::Frame, text),
            [b'#', b' ', rest @ ..] => match rest.trim_ascii_start().strip_prefix(b"Failed test '")
            {
                Some(name) => (Role::Test, name.strip_suffix(b"'").unwrap_or(name)),
                None => (Role::Note, text),
            },
            _ => return None,
        },
        _ => return None,
    };
    Some(found)
}

/// Returns the role of a line that begins with a number: `12 | source`, `12:5  error  text  rule`, `1) a
/// test`, `3 errors generated.`
fn by_number(text: &[u8]) -> Option<(Role, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &text[digits..];
    let inner = rest.trim_ascii_start();
    match inner {
        [b'|' | b'+', ..] => return Some((Role::Echo, text)),
        [b'-', b' ', ..] if rest.len() > inner.len() => return Some((Role::Echo, text)),
        _ => {}
    }
    match rest {
        [b':', b'0'..=b'9', ..] => {
            let column = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            let said = rest[1 + column..].trim_ascii_start();
            let said = said.strip_prefix(b":").unwrap_or(said).trim_ascii_start();
            said.strip_prefix(b"error")
                .map(|said| (Role::Finding, said.trim_ascii_start()))
                .or_else(|| said.starts_with(b"warning").then_some((Role::Warning, said)))
        }
        // The name is below: `1) Failure:`.
        [b')', b' ', rest @ ..] if matches!(rest, b"Failure:" | b"Error:") => {
            Some((Role::TestFollows, rest))
        }
        // A list of ways to call the program.
        [b')', b' ', b'U' | b'R' | b'T', ..] if is_advice(&rest[2..]) => Some((Role::Note, text)),
        [b')', b' ', rest @ ..] => Some((Role::Test, rest)),
        // A numbered line of source, or a frame of a backtrace.
        [b':', b' ', ..] if text.contains(&b'"') || text.ends_with(b"{") => {
            Some((Role::Echo, text))
        }
        [b':', b' ', ..] => Some((Role::Frame, text)),
        _ if !text.iter().any(u8::is_ascii_alphabetic) => Some((Role::Echo, text)),
        _ => is_count(inner).then_some((Role::Summary, text)),
    }
}

fn is_advice(text: &[u8]) -> bool {
    starts_with_any(text, &[b"Use ", b"Run ", b"Try "])
}

/// Returns the role of the text after a drawn arrow: `=====> text`.
fn arrow(text: &[u8]) -> (Role, &[u8]) {
    let marks = text.iter().take_while(|b| matches!(b, b'=' | b'>' | b' ')).count();
    spoken(&text[marks..])
}

/// Returns whether a count follows the number: `3 errors`, `1 failed`, `2 problems (2 errors)`.
pub(super) fn is_count(after: &[u8]) -> bool {
    const COUNTED: &[&[u8]] = &[
        b"error",
        b"fail",
        b"passed",
        b"warning",
        b"problem",
        b"passing",
        b"pending",
        b"test",
        b"example",
        b"fixable",
        b"issue",
        b"spec",
        b"suite",
        b"file",
        b"skipped",
        b"more",
        b"package",
        b"vulnerabilit",
        b"feature",
        b"scenario",
        b"step",
        b"run",
        b"assertion",
        b"item",
    ];
    starts_with_any(after, COUNTED)
}

/// Returns the role of the text behind a gutter: a label after the marks, a framed message, or echoed source.
fn gutter(rest: &[u8]) -> (Role, &[u8]) {
    let text = rest.trim_ascii();
    if let Some(cause) = text.strip_prefix(b"->") {
        // A chain of causes: `|-> could not connect`.
        return match spoken(cause.trim_ascii_start()) {
            (Role::Weak | Role::Acute | Role::Plain, cause) => (Role::Said, cause),
            found => found,
        };
    }
    if text.starts_with(b"- Error -") {
        // The title of a drawn panel, which contains the message.
        return (Role::Said, &text[2..7]);
    }
    if text.contains(&b'^') {
        return caret(text);
    }
    if is_exception(text) && !text.starts_with(b"Error") {
        return (Role::Exception, text);
    }
    if text.starts_with(b"Error") || text.starts_with(b"error") || text.starts_with(b"Warning") {
        return spoken(text);
    }
    (Role::Echo, text)
}

/// Returns the label after `^^^^` marks; a mark alone carries no message.
fn caret(text: &[u8]) -> (Role, &[u8]) {
    let is_mark =
        |b: &u8| matches!(b, b'^' | b'~' | b'-' | b' ' | b'|' | b'+' | b'_' | b'.' | b'/');
    let last = memchr::memrchr(b'^', text).map_or(0, |at| at + 1);
    let marks = text[last..].iter().take_while(|b| is_mark(b)).count();
    let label = &text[last + marks..];
    let before = &text[..text.iter().position(|b| *b == b'^').unwrap_or(0)];
    if label.is_empty() || !before.iter().all(is_mark) {
        return (Role::Echo, text);
    }
    if is_code(first_word(label)) {
        return (Role::Finding, label);
    }
    (Role::Label, label)
}

/// Returns the test of `--- FAIL: TestName (0.00s)`; `---- tests::name stdout ----` is an echo.
fn dashed(rest: &[u8]) -> (Role, &[u8]) {
    match rest.strip_prefix(b"FAIL: ") {
        Some(name) => (Role::Test, name.split(|b| *b == b' ').next().unwrap_or(name)),
        None => (Role::Echo, rest),
    }
}

/// Returns the cause of the line above: `> Could not resolve all files`. Anything else is an echo.
fn caused(text: &[u8]) -> (Role, &[u8]) {
    match spoken(text) {
        (Role::Weak | Role::Acute | Role::Said | Role::Exception, said)
            if !text.starts_with(b"Task ") =>
        {
            (Role::Weak, said)
        }
        _ => (Role::Echo, text),
    }
}

/// Returns the role of a list item, which counts only if it denies something; otherwise it is a diff.
fn item(text: &[u8]) -> (Role, &[u8]) {
    match spoken(text) {
        (Role::Plain | Role::Progress | Role::Note, text) => (Role::Echo, text),
        found => found,
    }
}

/// Recognizes a ruler: `===== 1 failed in 0.6s =====`, `_____ test_name _____`.
fn ruler(text: &[u8]) -> Option<(Role, &[u8])> {
    let mark = text[0];
    let long = text.len() >= 3 && text[..3].iter().all(|b| *b == mark);
    long.then_some((Role::Echo, text))
}

fn bulleted(text: &[u8]) -> (Role, &[u8]) {
    match text {
        [b'G' | b'T' | b'R', ..]
            if text.starts_with(b"Get more help")
                || text.starts_with(b"Try")
                || text.starts_with(b"Run") =>
        {
            (Role::Note, text)
        }
        _ => spoken(text),
    }
}

//! Lines that begin with a mark or a number: gutters, rulers, bullets, diffs, prompts.

use super::LineRole;
use super::shape::{contains_part, first_word, is_code, is_count, is_exception, starts_with_any};
use super::spoken::classify_spoken;

/// Returns the role of a line that begins with a mark.
pub(super) fn classify_by_mark(first: u8, text: &[u8], indent: usize) -> Option<(LineRole, &[u8])> {
    let found = match first {
        b'0'..=b'9' => return classify_by_number(text),
        b'|' => return Some(classify_gutter(&text[1..])),
        b'^' | b'~' => classify_caret(text),
        b'%' => (LineRole::Echo, text),
        b'(' if text.starts_with(b"(node:") => (LineRole::Warning, text),
        b'(' if text.starts_with(b"(Use ") || text.starts_with(b"(See ") => (LineRole::Note, text),
        b'(' if text.starts_with(b"(fail) ") => {
            let name = &text[7..];
            (LineRole::Test, &name[..memchr::memrchr(b'[', name).unwrap_or(name.len())])
        }
        b'-' => match text {
            [b'-', b'-', b'>', ..] => (LineRole::Echo, text),
            [b'-', b'-', b'-', b' ', rest @ ..] => classify_dashed(rest),
            [b'-', b' ', rest @ ..] if indent > 0 => return Some(classify_list_item(rest)),
            [b'-', b'-', ..] if indent > 0 => (LineRole::Echo, text),
            _ => return classify_ruler(text),
        },
        b',' if text.starts_with(b",-[") => (LineRole::Echo, text),
        b'=' => match text {
            [b'=', b'=', b'>', b' ', rest @ ..] => match classify_spoken(rest) {
                (LineRole::Plain, rest) => (LineRole::Progress, rest),
                found => found,
            },
            // A compiler passes on its linker's message about the full disk.
            [b'=', b' ', ..] if text.ends_with(b"No space left on device") => {
                (LineRole::Said, text)
            }
            [b'=', b' ', ..] => (LineRole::Note, text),
            [b'=', b'=', b' ', b'[', ..] => (LineRole::Echo, text),
            _ if contains_part(text, b"=> ") => return Some(classify_arrow(text)),
            _ => return classify_ruler(text),
        },
        b'_' | b'.' => return classify_ruler(text),
        b'+' if indent == 0 || matches!(text, [b'+', b'+' | b' ', ..]) => (LineRole::Echo, text),
        b'>' => match text {
            [b'>', b' ', b'0'..=b'9', ..] => (LineRole::Echo, text),
            [b'>', b' ', rest @ ..] if indent > 0 => return Some(classify_spoken(rest)),
            [b'>', b' ', b'A'..=b'Z' | b'e', ..] => return Some(classify_cause(&text[2..])),
            [b'>', b'>', b' ', rest @ ..] if rest.starts_with(b"Issue: ") => {
                (LineRole::Finding, rest)
            }
            _ => (LineRole::Echo, text),
        },
        b'*' => match text {
            [b'*', b' ', b' ', rest @ ..] if contains_part(rest, b" > ") => (LineRole::Test, rest),
            [b'*', b' ', ..] if contains_part(text, b"went wrong:") => {
                (LineRole::StatementFollows, text)
            }
            [b'*', b' ', rest @ ..] => return Some(classify_bulleted(rest)),
            [b'*', b'*', b' ', b'(', rest @ ..] => (LineRole::Exception, rest),
            [b'*', b'*', b'*', b' ', b'[', ..] => (LineRole::Summary, text),
            [b'*', b'*', b'*', b' ', rest @ ..] => return Some(classify_spoken(rest)),
            [b'*', b'*', b'*', ..] => (LineRole::Summary, text),
            _ => return None,
        },
        b'@' if text.starts_with(b"@ERROR: ") => return Some(classify_spoken(&text[1..])),
        b'!' => match text {
            [b'!', b' ', b'[', ..] => (LineRole::Said, text),
            _ => return None,
        },
        b'#' => match text {
            [b'#', b'0'..=b'9', ..] => (LineRole::Frame, text),
            [b'#', b' ', rest @ ..] => match rest.trim_ascii_start().strip_prefix(b"Failed test '")
            {
                Some(name) => (LineRole::Test, name.strip_suffix(b"'").unwrap_or(name)),
                None => (LineRole::Note, text),
            },
            _ => return None,
        },
        _ => return None,
    };
    Some(found)
}

/// Returns the role of a line that begins with a number: `12 | source`, `12:5  error  text  rule`, `1) a
/// test`, `3 errors generated.`
fn classify_by_number(text: &[u8]) -> Option<(LineRole, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &text[digits..];
    let inner = rest.trim_ascii_start();
    match inner {
        [b'|' | b'+', ..] => return Some((LineRole::Echo, text)),
        [b'-', b' ', ..] if rest.len() > inner.len() => return Some((LineRole::Echo, text)),
        _ => {}
    }
    match rest {
        [b':', b'0'..=b'9', ..] => {
            let column = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            let said = rest[1 + column..].trim_ascii_start();
            let said = said.strip_prefix(b":").unwrap_or(said).trim_ascii_start();
            said.strip_prefix(b"error")
                .map(|said| (LineRole::Finding, said.trim_ascii_start()))
                .or_else(|| said.starts_with(b"warning").then_some((LineRole::Warning, said)))
        }
        // The name is below: `1) Failure:`.
        [b')', b' ', rest @ ..] if matches!(rest, b"Failure:" | b"Error:") => {
            Some((LineRole::TestFollows, rest))
        }
        // A list of ways to call the program.
        [b')', b' ', b'U' | b'R' | b'T', ..] if is_advice(&rest[2..]) => {
            Some((LineRole::Note, text))
        }
        [b')', b' ', rest @ ..] => Some((LineRole::Test, rest)),
        // A numbered line of source, or a frame of a backtrace.
        [b':', b' ', ..] if text.contains(&b'"') || text.ends_with(b"{") => {
            Some((LineRole::Echo, text))
        }
        [b':', b' ', ..] => Some((LineRole::Frame, text)),
        _ if !text.iter().any(u8::is_ascii_alphabetic) => Some((LineRole::Echo, text)),
        _ => is_count(inner).then_some((LineRole::Summary, text)),
    }
}

fn is_advice(text: &[u8]) -> bool {
    starts_with_any(text, &[b"Use ", b"Run ", b"Try "])
}

/// Returns the role of the text after a drawn arrow: `=====> text`.
fn classify_arrow(text: &[u8]) -> (LineRole, &[u8]) {
    let marks = text.iter().take_while(|b| matches!(b, b'=' | b'>' | b' ')).count();
    classify_spoken(&text[marks..])
}

/// Returns the role of the text behind a gutter: a label after the marks, a framed message, or echoed source.
fn classify_gutter(rest: &[u8]) -> (LineRole, &[u8]) {
    let text = rest.trim_ascii();
    if let Some(cause) = text.strip_prefix(b"->") {
        // A chain of causes: `|-> could not connect`.
        return match classify_spoken(cause.trim_ascii_start()) {
            (LineRole::Weak | LineRole::Acute | LineRole::Plain, cause) => (LineRole::Said, cause),
            found => found,
        };
    }
    if text.starts_with(b"- Error -") {
        // The title of a drawn panel, which contains the message.
        return (LineRole::Said, &text[2..7]);
    }
    if text.contains(&b'^') {
        return classify_caret(text);
    }
    if is_exception(text) && !text.starts_with(b"Error") {
        return (LineRole::Exception, text);
    }
    if text.starts_with(b"Error") || text.starts_with(b"error") || text.starts_with(b"Warning") {
        return classify_spoken(text);
    }
    (LineRole::Echo, text)
}

/// Returns the label after `^^^^` marks; a mark alone carries no message.
fn classify_caret(text: &[u8]) -> (LineRole, &[u8]) {
    let is_mark =
        |b: &u8| matches!(b, b'^' | b'~' | b'-' | b' ' | b'|' | b'+' | b'_' | b'.' | b'/');
    let last = memchr::memrchr(b'^', text).map_or(0, |at| at + 1);
    let marks = text[last..].iter().take_while(|b| is_mark(b)).count();
    let label = &text[last + marks..];
    let before = &text[..text.iter().position(|b| *b == b'^').unwrap_or(0)];
    if label.is_empty() || !before.iter().all(is_mark) {
        return (LineRole::Echo, text);
    }
    if is_code(first_word(label)) {
        return (LineRole::Finding, label);
    }
    (LineRole::Label, label)
}

/// Returns the test of `--- FAIL: TestName (0.00s)`; `---- tests::name stdout ----` is an echo.
fn classify_dashed(rest: &[u8]) -> (LineRole, &[u8]) {
    match rest.strip_prefix(b"FAIL: ") {
        Some(name) => (LineRole::Test, name.split(|b| *b == b' ').next().unwrap_or(name)),
        None => (LineRole::Echo, rest),
    }
}

/// Returns the cause of the line above: `> Could not resolve all files`. Anything else is an echo.
fn classify_cause(text: &[u8]) -> (LineRole, &[u8]) {
    match classify_spoken(text) {
        (LineRole::Weak | LineRole::Acute | LineRole::Said | LineRole::Exception, said)
            if !text.starts_with(b"Task ") =>
        {
            (LineRole::Weak, said)
        }
        _ => (LineRole::Echo, text),
    }
}

/// Returns the role of a list item, which counts only if it denies something; otherwise it is a diff.
fn classify_list_item(text: &[u8]) -> (LineRole, &[u8]) {
    match classify_spoken(text) {
        (LineRole::Plain | LineRole::Progress | LineRole::Note, text) => (LineRole::Echo, text),
        found => found,
    }
}

/// Recognizes a ruler: `===== 1 failed in 0.6s =====`, `_____ test_name _____`.
fn classify_ruler(text: &[u8]) -> Option<(LineRole, &[u8])> {
    let mark = text[0];
    let long = text.len() >= 3 && text[..3].iter().all(|b| *b == mark);
    long.then_some((LineRole::Echo, text))
}

fn classify_bulleted(text: &[u8]) -> (LineRole, &[u8]) {
    match text {
        [b'G' | b'T' | b'R', ..]
            if text.starts_with(b"Get more help")
                || text.starts_with(b"Try")
                || text.starts_with(b"Run") =>
        {
            (LineRole::Note, text)
        }
        _ => classify_spoken(text),
    }
}

//! What a line of output is: echo, progress, advice, or a diagnosis and of what kind.
//!
//! Judged by shape first and by words second, since a path or a test name may contain any word.

use super::place::{self, Placed};
use super::words::{self, ACUTE, ERROR, FAIL, NEGATION, NOTE, PROGRESS, WARNING};

/// The part a line plays in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing on it.
    Blank,
    /// Echoed source, a gutter, a ruler, a location.
    Echo,
    /// A stack frame; deeper lines below belong to it.
    Frame,
    /// A program tells what it is doing.
    Progress,
    /// Advice or a remark.
    Note,
    /// A warning: it did not fail because of this.
    Warning,
    /// It sums up what was said before.
    Summary,
    /// An ordinary line.
    Plain,
    /// An ordinary line that denies something.
    Weak,
    /// An ordinary line that names a cause the text rules know.
    Acute,
    /// A program says that it failed.
    Said,
    /// A finding of a compiler or linter, with its location or its code.
    Finding,
    /// An exception, its class first.
    Exception,
    /// A failing test, by name.
    Test,
    /// What a test runner says about the failing test above.
    TestDetail,
    /// A shell tells how a program died; the program may have told why.
    Death,
    /// The text beside the marks under echoed source.
    Label,
    /// The message is on the next line.
    MessageFollows,
    /// The statement of what went wrong is on the next line.
    StatementFollows,
    /// What follows, indented, are the causes.
    CausesFollow,
}

impl Role {
    /// Whether a line of this kind alone tells that something failed.
    pub(crate) const fn is_strong(self) -> bool {
        matches!(self, Self::Said | Self::Finding | Self::Exception | Self::Test)
    }
}

/// A line with its part and without its decoration.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// What it is.
    pub(crate) role: Role,
    /// What it says, without gutter, location or marks.
    pub(crate) text: &'a [u8],
    /// The file that its location names.
    pub(crate) file: Option<&'a [u8]>,
    /// How far it is indented, in bytes.
    pub(crate) indent: usize,
    /// Whether it stands in a drawn frame or behind a gutter.
    pub(crate) framed: bool,
}

/// Reads one line.
pub(crate) fn read(raw: &[u8]) -> Line<'_> {
    let text = raw.trim_ascii();
    let indent = if text.is_empty() {
        0
    } else {
        raw.iter().take_while(|b| b.is_ascii_whitespace()).count()
    };
    let framed = text.first() == Some(&b'|');
    let line = |role, text| Line { role, text, file: None, indent, framed };
    let Some(&first) = text.first() else { return line(Role::Blank, text) };
    if let Some((role, text)) = by_mark(first, text, indent) {
        return line(role, text);
    }
    if let Some((role, text)) = by_opening(first, text, indent) {
        return line(role, text);
    }
    let Placed { rest, file, running } = place::cut(unlevelled(text));
    let (role, text) = match file {
        Some(_) if running => (while_running(rest), rest),
        Some(_) => located(rest),
        None => spoken(text),
    };
    Line { role, text, file, indent, framed: false }
}

/// A line without the level in front of a location: `[ERROR] /src/A.java:[3,5] text`.
fn unlevelled(text: &[u8]) -> &[u8] {
    const LEVELS: &[&[u8]] = &[
        b"[ERROR] ",
        b"[error] ",
        b"ERROR: ",
        b"Error: ",
        b"error: ",
        b"ERROR in ",
        b"ERROR ",
        b"fatal: ",
    ];
    if !matches!(text.first(), Some(b'[' | b'E' | b'e' | b'f')) {
        return text;
    }
    let level = LEVELS.iter().find(|level| text.starts_with(level)).map_or(0, |level| level.len());
    let rest = &text[level..];
    let file = rest.iter().position(|b| matches!(b, b' ' | b':' | b'(')).unwrap_or(0);
    if file > 0 && place::is_file(&rest[..file]) { rest } else { text }
}

/// The role of a line inside a drawn frame.
pub(crate) fn in_frame(text: &[u8]) -> (Role, &[u8]) {
    let skip = text.iter().take_while(|b| matches!(b, b'-' | b'>' | b' ' | b'|')).count();
    spoken(&text[skip..])
}

/// Lines that begin with a mark: gutters, rulers, bullets, diffs, prompts.
fn by_mark(first: u8, text: &[u8], indent: usize) -> Option<(Role, &[u8])> {
    let found = match first {
        b'0'..=b'9' => return by_number(text),
        b'|' => return Some(gutter(&text[1..])),
        b'^' | b'~' => caret(text),
        b'%' => (Role::Echo, text),
        b'(' if text.starts_with(b"(node:") => (Role::Warning, text),
        b'(' if text.starts_with(b"(Use ") => (Role::Note, text),
        b'-' => match text {
            [b'-', b'-', b'>', ..] => (Role::Echo, text),
            [b'-', b'-', b'-', b' ', rest @ ..] => dashed(rest),
            [b'-', b' ', rest @ ..] if indent > 0 => return Some(item(rest)),
            [b'-', b'-', ..] if indent > 0 => (Role::Echo, text),
            _ => return ruler(text),
        },
        b'=' => match text {
            [b'=', b' ', ..] => (Role::Note, text),
            _ => return ruler(text),
        },
        b'_' | b'.' => return ruler(text),
        b'+' if indent == 0 || matches!(text, [b'+', b'+' | b' ', ..]) => (Role::Echo, text),
        b'>' => match text {
            [b'>', b' ', rest @ ..] if indent > 0 => return Some(spoken(rest)),
            _ => (Role::Echo, text),
        },
        b'*' => match text {
            [b'*', b' ', b' ', rest @ ..] if contains(rest, b" > ") => (Role::Test, rest),
            [b'*', b' ', ..] if contains(text, b"went wrong:") => (Role::StatementFollows, text),
            [b'*', b' ', rest @ ..] => return Some(bulleted(rest)),
            [b'*', b'*', b'*', b' ', b'[', ..] => (Role::Summary, text),
            [b'*', b'*', b'*', b' ', rest @ ..] => return Some(spoken(rest)),
            _ => return None,
        },
        b'!' => match text {
            [b'!', b' ', b'[', ..] => (Role::Said, text),
            _ => return None,
        },
        b'#' => match text {
            [b'#', b'0'..=b'9', ..] => (Role::Frame, text),
            [b'#', b' ', ..] => (Role::Note, text),
            _ => return None,
        },
        _ => return None,
    };
    Some(found)
}

/// `12 | source`, `12:5  error  text  rule`, `1) a test`, `3 errors generated.`
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
        [b')', b' ', rest @ ..] => Some((Role::Test, rest)),
        [b':', b' ', ..] => Some((Role::Frame, text)),
        _ if !text.iter().any(u8::is_ascii_alphabetic) => Some((Role::Echo, text)),
        _ => is_count(inner).then_some((Role::Summary, text)),
    }
}

/// What follows the number in `3 errors`, `1 failed`, `2 problems (2 errors)`.
fn is_count(after: &[u8]) -> bool {
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
    ];
    starts_with_any(after, COUNTED)
}

/// Behind a gutter: a label after the marks, the text of a framed message, or echoed source.
fn gutter(rest: &[u8]) -> (Role, &[u8]) {
    let text = rest.trim_ascii();
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

/// The label after `^^^^` marks; a mark alone says nothing.
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

/// `--- FAIL: TestName (0.00s)`, `---- tests::name stdout ----`.
fn dashed(rest: &[u8]) -> (Role, &[u8]) {
    match rest.strip_prefix(b"FAIL: ") {
        Some(name) => (Role::Test, name.split(|b| *b == b' ').next().unwrap_or(name)),
        None => (Role::Echo, rest),
    }
}

/// An item of a list counts only when it denies something; else it is a diff.
fn item(text: &[u8]) -> (Role, &[u8]) {
    match spoken(text) {
        (Role::Plain | Role::Progress | Role::Note, text) => (Role::Echo, text),
        found => found,
    }
}

/// `===== 1 failed in 0.6s =====`, `_____ test_name _____`.
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

/// Lines known by how they begin, whatever they say.
fn by_opening(first: u8, text: &[u8], indent: usize) -> Option<(Role, &[u8])> {
    let starts = |with: &[u8]| text.starts_with(with);
    let found = match first {
        b'F' if starts(b"File \"") => (Role::Frame, text),
        b'F' if starts(b"FAILED ")
            || starts(b"FAIL ")
            || starts(b"FAIL\t")
            || starts(b"FAIL: ") =>
        {
            failing(text)
        }
        b'F' if starts(b"For more info") || starts(b"Found ") => (Role::Summary, text),
        b'T' if starts(b"Traceback (most") => (Role::Frame, text),
        b'T' if starts(b"The above exception") => (Role::Echo, text),
        b'T' if starts(b"To ") => (Role::Progress, text),
        b'D' if starts(b"During handling of") => (Role::Echo, text),
        b'S' if starts(b"Some errors have") => (Role::Summary, text),
        b'P' if starts(b"Process completed with exit") => (Role::Note, text),
        b'O' if starts(b"On branch ") => (Role::Progress, text),
        b'N' if starts(b"Node.js v") => (Role::Echo, text),
        b'C' if text == b"Caused by:" => (Role::CausesFollow, text),
        b'C' if starts(b"Caused by: ") => return Some((Role::Exception, &text[11..])),
        b'C' if starts(b"CONFLICT") => (Role::Said, text),
        b'a' if starts(b"at ") && is_frame(&text[3..], indent) => (Role::Frame, text),
        b'f' if starts(b"from ") && contains(text, b":in ") => (Role::Frame, text),
        b'f' if starts(b"failures:") => (Role::Summary, text),
        b'g' if starts(b"goroutine ") => (Role::Frame, text),
        b'n' if starts(b"not ok ") => (Role::Test, after_ordinal(&text[7..])),
        b'n' if starts(b"node:internal") => (Role::Frame, text),
        b's' if starts(b"symbol:") && indent > 0 => (Role::Label, text),
        b'r' if (starts(b"required:") || starts(b"reason:")) && indent > 0 => (Role::Label, text),
        b'f' if starts(b"found:") && indent > 0 => (Role::Label, text),
        b't' if starts(b"terminate called") => (Role::Exception, text),
        b'w' if starts(b"what():") => (Role::Exception, text),
        b's' if starts(b"stack backtrace:") => (Role::Frame, text),
        b't' if starts(b"test ") => return tested(&text[5..]),
        b't' if starts(b"thread '") && contains(text, b"panicked at") => panicked(text),
        b'x' if starts(b"x ") && text.len() > 3 => {
            return Some(crossed(text[2..].trim_ascii_start()));
        }
        b'o' if starts(b"ok ") => (Role::Progress, text),
        b'[' if starts(b"[  FAILED  ] ") => {
            let name = &text[13..];
            (Role::Test, name.split(|b| *b == b' ').next().unwrap_or(name))
        }
        b'E' if starts(b"E   ") => (Role::TestDetail, text[1..].trim_ascii_start()),
        b'E' if starts(b"ERROR: test") && text.ends_with(b")") => failing(text),
        b'E' if starts(b"ERROR collecting") => (Role::Echo, text),
        b'E' if starts(b"ERROR ") && (contains(text, b"::") || contains(text, b".py")) => {
            failing(text)
        }
        b'c' if starts(b"code: '") => (Role::Acute, text),
        b'n' if starts(b"npm ERR! ") || starts(b"npm error ") => return Some(npm(&text[9..])),
        b'n' if starts(b"npm WARN") || starts(b"npm warn") => (Role::Warning, text),
        b'n' if starts(b"npm notice") => (Role::Note, text),
        _ => return None,
    };
    Some(found)
}

fn npm(rest: &[u8]) -> (Role, &[u8]) {
    let rest = rest.trim_ascii();
    if rest.starts_with(b"A complete log") || rest.starts_with(b"Log files") || is_file_only(rest) {
        return (Role::Note, rest);
    }
    if rest.is_empty() {
        return (Role::Blank, rest);
    }
    if rest.starts_with(b"at ") {
        return (Role::Frame, rest);
    }
    (Role::Said, rest)
}

fn is_file_only(text: &[u8]) -> bool {
    text.first() == Some(&b'/') && !text.contains(&b' ')
}

/// A frame of JavaScript, Java, C# or a Rust backtrace.
fn is_frame(after: &[u8], indent: usize) -> bool {
    indent > 0
        && (after.contains(&b'(')
            || after.contains(&b':')
            || after.contains(&b'/')
            || !after.contains(&b' '))
}

/// A failing test by name. A file alone is a location, and a count sums up.
fn failing(text: &[u8]) -> (Role, &[u8]) {
    let rest = match memchr::memchr2(b' ', b'\t', text) {
        Some(at) => text[at + 1..].trim_ascii_start(),
        None => text,
    };
    let name = failing_name(rest);
    let opens_count = name.first() == Some(&b'(');
    if opens_count || place::is_file(name.split(|b| *b == b' ').next().unwrap_or(name)) {
        return (Role::Summary, text);
    }
    (Role::Test, name)
}

/// `tests/a.py::test_x - assert …`, `a.ts > cart > adds`, `test_x (tests.test_a.Case.test_x)`: the
/// name without the file it is in, and without the message, which is cut to the terminal's width.
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

/// A cross stands before a failing test, its name and time, and before any other bad news.
fn crossed(text: &[u8]) -> (Role, &[u8]) {
    if is_summary(text) {
        return (Role::Summary, text);
    }
    if let Some(name) = timed(text) {
        return (Role::Test, name);
    }
    match spoken(text) {
        (Role::Plain | Role::Progress | Role::Note, text) => (Role::Test, text),
        (Role::Weak | Role::Acute, text) if !contains(text, b" > ") => (Role::Said, text),
        (_, text) => (Role::Test, text),
    }
}

/// `adds numbers (5 ms)`, `cart > adds 3ms`: the name before the time.
fn timed(text: &[u8]) -> Option<&[u8]> {
    let body = text.strip_suffix(b")").unwrap_or(text);
    let body = body.strip_suffix(b"ms").or_else(|| body.strip_suffix(b"s"))?.trim_ascii_end();
    let digits = body.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let name = body[..body.len() - digits].trim_ascii_end();
    let name = name.strip_suffix(b"(").unwrap_or(name).trim_ascii_end();
    (digits > 0 && !name.is_empty()).then_some(name)
}

/// `3 - the name`.
fn after_ordinal(text: &[u8]) -> &[u8] {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text[digits..].trim_ascii_start();
    rest.strip_prefix(b"- ").unwrap_or(rest)
}

/// `test a::b ... FAILED`.
fn tested(rest: &[u8]) -> Option<(Role, &[u8])> {
    if let Some(name) = rest.strip_suffix(b" ... FAILED") {
        return Some((Role::Test, name));
    }
    if rest.starts_with(b"result: ") {
        return Some((Role::Summary, rest));
    }
    (rest.ends_with(b" ... ok") || rest.ends_with(b" ... ignored"))
        .then_some((Role::Progress, rest))
}

/// Older toolchains put the message between quotes on the same line.
fn panicked(text: &[u8]) -> (Role, &[u8]) {
    let Some(at) = memchr::memmem::find(text, b"panicked at '") else {
        return (Role::MessageFollows, text);
    };
    let message = &text[at + 13..];
    match memchr::memmem::rfind(message, b"', ") {
        Some(end) => (Role::Exception, &message[..end]),
        None => (Role::Exception, message),
    }
}

/// After a location stands a level, a code, a class or the finding itself.
fn located(rest: &[u8]) -> (Role, &[u8]) {
    let word = first_word(rest);
    let after = &rest[word.len()..];
    if rest.is_empty()
        || rest.starts_with(b"in ")
        || rest.starts_with(b"In ")
        || rest.starts_with(b"from ")
    {
        return (Role::Echo, rest);
    }
    if word.ends_with(b"Warning") {
        return (Role::Warning, rest);
    }
    if after.is_empty() && class_suffix(word) {
        return (Role::Echo, rest);
    }
    let hint = words::hint(word);
    if hint & WARNING != 0 {
        return (Role::Warning, rest);
    }
    if hint & (NOTE | PROGRESS) != 0 && after.first() == Some(&b':') {
        return (Role::Note, rest);
    }
    if hint & ERROR != 0 {
        return (Role::Finding, rest);
    }
    let found = words::hints(rest);
    if found & (ERROR | FAIL | NEGATION | ACUTE) != 0 || is_code(word) {
        return (Role::Finding, rest);
    }
    (Role::Weak, rest)
}

/// What an interpreter says about the statement it runs concerns the command, not the code.
fn while_running(rest: &[u8]) -> Role {
    let hint = words::hint(first_word(rest));
    match hint {
        _ if rest.is_empty() => Role::Echo,
        _ if is_death(rest) => Role::Death,
        hint if hint & WARNING != 0 => Role::Warning,
        hint if hint & (NOTE | PROGRESS) != 0 => Role::Note,
        _ => Role::Said,
    }
}

/// `6670 Segmentation fault      ./app`.
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

/// A line without a location.
fn spoken(text: &[u8]) -> (Role, &[u8]) {
    let opening = text.strip_prefix(b"[").unwrap_or(text);
    let word = first_word(opening);
    let after = &opening[word.len()..];
    let hint = if word.starts_with(b"ERR_") { ERROR } else { words::hint(word) };
    if hint & WARNING != 0 || word.ends_with(b"Warning") {
        let retried = contains(text, b"etry") || contains(text, b"rror(");
        return (if retried { Role::Acute } else { Role::Warning }, text);
    }
    if hint & NOTE != 0 && opens_remark(word, after) {
        return (Role::Note, text);
    }
    if hint & ERROR != 0 && !matches!(after.first(), Some(b'-' | b'_' | b'/' | b'.')) {
        let said = message(after);
        if is_summary(said) {
            return (Role::Summary, text);
        }
        return (
            if after.starts_with(b"[E") || is_code(first_word(said)) {
                Role::Finding
            } else {
                Role::Said
            },
            text,
        );
    }
    if let Some(role) = classed(word, after) {
        return (role, text);
    }
    if is_code(word) && (after.starts_with(b" ") || after.starts_with(b":")) {
        return (Role::Finding, text);
    }
    if is_died(text) {
        return (Role::Exception, text);
    }
    by_words(text, word, after, hint)
}

/// `… at run.pl line 3.`: Perl's own way to raise.
fn is_died(text: &[u8]) -> bool {
    let ends = text.strip_suffix(b".").unwrap_or(text);
    if !ends.last().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let Some(at) = memchr::memmem::rfind(text, b" line ") else { return false };
    let number = text[at + 6..].strip_suffix(b".").unwrap_or(&text[at + 6..]);
    let head = &text[..at];
    let file = memchr::memrchr(b' ', head).map_or(head, |gap| &head[gap + 1..]);
    !number.is_empty()
        && number.iter().all(u8::is_ascii_digit)
        && place::is_file(file)
        && head[..head.len() - file.len()].ends_with(b" at ")
}

fn by_words<'a>(text: &'a [u8], word: &[u8], after: &[u8], hint: u8) -> (Role, &'a [u8]) {
    let found = words::hints(text);
    let bad = found & (ERROR | FAIL | NEGATION | ACUTE) != 0;
    if is_summary(text) {
        return (Role::Summary, text);
    }
    if hint & PROGRESS != 0 && found & (ERROR | FAIL | ACUTE) == 0 {
        return (Role::Progress, text);
    }
    let program = after.starts_with(b": ") && is_program(word);
    if bad && program {
        let said = message(&after[1..]);
        let role = match place::base(word) {
            _ if is_summary(said) => Role::Summary,
            b"ld" | b"ld.lld" | b"lld" | b"ld.gold" | b"mold" => Role::Finding,
            _ => Role::Said,
        };
        return (role, text);
    }
    if found & ERROR != 0 && names_error(text) {
        return (Role::Said, text);
    }
    let role = match found {
        found if found & ACUTE != 0 => Role::Acute,
        _ if bad || program => Role::Weak,
        _ => Role::Plain,
    };
    (role, text)
}

/// `help: …`, `Usage: …`, `INFO …`, `Run 'x' for more`; but not `Info about x was not found`.
fn opens_remark(word: &[u8], after: &[u8]) -> bool {
    match after.first() {
        None | Some(b':' | b']' | b'=') => true,
        Some(b' ') => {
            word.iter().all(u8::is_ascii_uppercase)
                || matches!(word, b"Run" | b"See" | b"Try" | b"Use" | b"Usage" | b"usage")
        }
        _ => false,
    }
}

/// The word before the first colon is `error`: `parse error: …`, `jq: error (at <stdin>:1): …`.
fn names_error(text: &[u8]) -> bool {
    const HEAD_BYTES_MAX: usize = 80;
    let head = &text[..text.len().min(HEAD_BYTES_MAX)];
    let Some(colon) = memchr::memchr(b':', head) else { return false };
    let head = &head[..colon];
    let last = head.rsplit(|b| *b == b' ').next().unwrap_or(head);
    words::hint(last) & ERROR != 0
}

/// An exception class at the beginning, followed by its message or by nothing.
fn classed(word: &[u8], after: &[u8]) -> Option<Role> {
    let class = word;
    let closes = matches!(after, [] | [b':', ..] | [b' ', b'(' | b'[' | b'-', ..]);
    (closes && class_suffix(class)).then_some(Role::Exception)
}

/// Whether a text can be what ends a stack of frames: a class with any name, and its message.
pub(crate) fn is_raised(text: &[u8]) -> bool {
    let word = first_word(text);
    let named = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':');
    word.len() > 2 && word.iter().all(named) && matches!(&text[word.len()..], [] | [b':', b' ', ..])
}

/// Whether a text begins with an exception class.
pub(crate) fn is_exception(text: &[u8]) -> bool {
    let word = first_word(text);
    classed(word, &text[word.len()..]).is_some()
}

/// Whether a word is the name of an exception class: dotted, the last part in capitals.
pub(crate) fn class_suffix(word: &[u8]) -> bool {
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
        return ENDINGS.iter().any(|ending| ending.last() == end && last.ends_with(ending));
    }
    last.len() < word.len()
        && last.ends_with(b"error")
        && last.iter().all(u8::is_ascii_alphanumeric)
}

/// A finding's code: `E0425`, `F401`, `TS2304`, `CS0103`, `SC2086`, `invalid-syntax`.
pub(crate) fn is_code(word: &[u8]) -> bool {
    let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let digits = word[letters..].iter().take_while(|b| b.is_ascii_digit()).count();
    ((1..=6).contains(&letters) && digits >= 3 && letters + digits == word.len())
        || word == b"invalid-syntax"
}

/// A program's name before a colon: lower case, or a path.
fn is_program(word: &[u8]) -> bool {
    let name = place::base(word);
    name.first().is_some_and(u8::is_ascii_lowercase) && name.len() <= 40
}

/// What a level word introduces: `error: text`, `error[E1]: text`, `[ERROR] text`.
fn message(after: &[u8]) -> &[u8] {
    let skip = after.iter().take_while(|b| matches!(b, b':' | b' ' | b']' | b'!' | b'\t')).count();
    &after[skip..]
}

/// Sentences that only say that there were failures.
fn is_summary(said: &[u8]) -> bool {
    const OPENINGS: &[&[u8]] = &[
        b"aborting due to",
        b"could not compile",
        b"test failed, to rerun",
        b"build failed",
        b"Build failed",
        b"BUILD FAILED",
        b"compilation terminated",
        b"all warnings being treated",
        b"ld returned",
        b"linker command failed",
        b"command failed with exit",
        b"Command failed with exit",
        b"A complete log",
        b"*** [",
        b"Failed to compile",
        b"Compilation failed",
        b"compilation failed",
        b"There were failures",
        b"tests failed",
        b"Tests failed",
        b"Tests:",
        b"Test Suites:",
        b"Test Files",
        b"failures:",
        b"previous error",
        b"exited with code",
        b"Command exited",
        b"Aborting",
        b"-> [Help",
        b"To see the full stack trace",
        b"Re-run Maven",
        b"For more information about the errors",
        b"script returned exit code",
        b"BEGIN failed",
        b"Execution of ",
        b"build stopped",
        b"Error is not recoverable",
        b"Configuring incomplete",
    ];
    if said.first().is_some_and(u8::is_ascii_digit) {
        let digits = said.iter().take_while(|b| b.is_ascii_digit()).count();
        return is_count(said[digits..].trim_ascii_start());
    }
    starts_with_any(said, OPENINGS)
}

/// The first word: up to a space, a colon that ends a word, or a bracket.
fn first_word(text: &[u8]) -> &[u8] {
    let mut end = 0;
    while end < text.len() {
        match text[end] {
            b' ' | b'\t' | b'[' | b']' | b'(' | b',' | b'!' | b'=' | b'\'' | b'"' | b'`' => break,
            b':' if !matches!(text.get(end + 1), Some(b':'))
                && !(end > 0 && text[end - 1] == b':') =>
            {
                break;
            }
            _ => end += 1,
        }
    }
    &text[..end]
}

/// Compares the first byte before anything else: most lists do not apply to most lines.
fn starts_with_any(text: &[u8], openings: &[&[u8]]) -> bool {
    let Some(first) = text.first() else { return false };
    openings.iter().any(|opening| opening.first() == Some(first) && text.starts_with(opening))
}

pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

//! The role of a line in an output: echo, progress, advice, or a diagnosis of some kind.
//!
//! Judged by shape first and by words second, since a path or a test name may contain any word.

mod marks;
mod openings;
mod shape;
mod spoken;

pub(crate) use shape::{
    counts_errors, is_exception, is_exception_class, is_raised, lacks_name, marked_source,
    says_nothing,
};

use super::place::{self, LocatedText};
use super::words;
use marks::classify_by_mark;
use openings::classify_by_opening;
use spoken::{classify_located, classify_running, classify_spoken};

/// The role of a line in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// An empty line.
    Blank,
    /// Echoed source, a gutter, a ruler, a location.
    Echo,
    /// A stack frame; deeper lines below belong to it.
    Frame,
    /// A progress report of a program.
    Progress,
    /// Advice or a remark.
    Note,
    /// A warning, which is not the cause of the failure.
    Warning,
    /// A summary of earlier lines.
    Summary,
    /// An ordinary line.
    Plain,
    /// An ordinary line that denies something.
    Weak,
    /// An ordinary line that names a cause the text rules know.
    Acute,
    /// A program's report that it failed.
    Said,
    /// A finding of a compiler or linter, with its location or its code.
    Finding,
    /// An exception that begins with its class.
    Exception,
    /// A failing test, by name.
    Test,
    /// A detail about the failing test above.
    TestDetail,
    /// A shell's report of how a program died; the program may have reported why.
    Death,
    /// The text beside the marks under echoed source.
    Label,
    /// The message is on the next line.
    MessageFollows,
    /// The name of the failing test is on the next line.
    TestFollows,
    /// The statement of what went wrong is on the next line.
    StatementFollows,
    /// The indented lines below are the causes.
    CausesFollow,
}

impl LineRole {
    /// Returns whether a line of this role alone reports a failure.
    pub(crate) const fn is_strong(self) -> bool {
        matches!(self, Self::Said | Self::Finding | Self::Exception | Self::Test)
    }

    /// Returns whether a line of this role only denies something or names a cause.
    pub(crate) const fn is_denial(self) -> bool {
        matches!(self, Self::Weak | Self::Acute)
    }

    /// Returns how informative a line of this role is, for when there are too many lines.
    pub(crate) const fn weight(self) -> u8 {
        match self {
            Self::Test => 5,
            Self::Finding | Self::TestDetail => 4,
            Self::Exception | Self::Label => 3,
            Self::Said => 2,
            Self::Acute | Self::Death => 1,
            _ => 0,
        }
    }
}

/// A line with its role and without its decoration.
#[derive(Clone, Copy)]
pub(crate) struct OutputLine<'a> {
    /// The role of the line.
    pub(crate) role: LineRole,
    /// The text without gutter, location or marks.
    pub(crate) text: &'a [u8],
    /// The file that its location names.
    pub(crate) file: Option<&'a [u8]>,
    /// Indentation in bytes.
    pub(crate) indent: usize,
    /// `true` if it is in a drawn frame or behind a gutter.
    pub(crate) framed: bool,
}

/// Classifies a line.
pub(crate) fn classify_line(raw: &[u8]) -> OutputLine<'_> {
    let text = raw.trim_ascii();
    let indent = if text.is_empty() {
        0
    } else {
        raw.iter().take_while(|b| b.is_ascii_whitespace()).count()
    };
    let framed = text.first() == Some(&b'|');
    let line = |role, text| OutputLine { role, text, file: None, indent, framed };
    let Some(&first) = text.first() else { return line(LineRole::Blank, text) };
    // `x src/a.swift:3:5: …`, `%Error: a.v:3:5: …`: a mark before a level or a place.
    if let Some(marked) = strip_mark(first, text) {
        return OutputLine { indent, ..classify_line(marked) };
    }
    if let Some(file) = title_file(first, text) {
        return OutputLine {
            role: LineRole::StatementFollows,
            text,
            file: Some(file),
            indent,
            framed,
        };
    }
    if let Some((role, text)) = classify_by_mark(first, text, indent) {
        return line(role, text);
    }
    if let Some((role, text)) = classify_by_opening(first, text, indent) {
        return line(role, text);
    }
    if let Some(source) = echoed_at_level(text) {
        return line(LineRole::Echo, source);
    }
    let said = strip_level(text);
    let mut placed = place::cut_location(said);
    if placed.file.is_none() && said.len() < text.len() {
        placed = place::cut_file(said);
    }
    let LocatedText { rest, file, running } = placed;
    let (role, text) = match file {
        // `ERROR in ./a.js 3:5`: the message is below.
        Some(_) if rest.is_empty() && said.len() < text.len() => (LineRole::StatementFollows, rest),
        Some(_) if running => (classify_running(rest), rest),
        Some(_) => classify_located(rest),
        None => classify_spoken(text),
    };
    OutputLine { role, text, file, indent, framed: false }
}

/// Strips the name of the program that printed the line: `[web] src/a.ts(3,5): …`.
fn strip_program_name(text: &[u8]) -> Option<&[u8]> {
    const NAME_BYTES_MAX: usize = 24;
    let end = memchr::memchr(b']', &text[..text.len().min(NAME_BYTES_MAX)])?;
    let name = &text[1..end];
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':');
    let is_name = !name.is_empty() && name.iter().all(plain) && words::word_hints(name) == 0;
    text[end + 1..].strip_prefix(b" ").filter(|_| is_name)
}

fn strip_mark(first: u8, text: &[u8]) -> Option<&[u8]> {
    let rest = match first {
        b'%' => text.strip_prefix(b"%").filter(|rest| rest.starts_with(b"Error")),
        b'x' => text.strip_prefix(b"x ").map(<[u8]>::trim_ascii_start),
        b'[' => strip_program_name(text),
        _ => None,
    }?;
    (first == b'%' || place::cut_location(rest).file.is_some()).then_some(rest)
}

/// Returns the file of a title line with a ruler: `-- NAMING ERROR ------------ src/a.elm`; the rest is
/// below.
fn title_file(first: u8, text: &[u8]) -> Option<&[u8]> {
    if !matches!(first, b'-' | b'E') || text.len() < 20 {
        return None;
    }
    let file = &text[memchr::memmem::rfind(text, b"--- ")? + 4..];
    let file = file.split(|b| *b == b':').next().unwrap_or(file);
    let title = text.iter().any(u8::is_ascii_uppercase) && !text.starts_with(b"---");
    (title && !file.contains(&b' ') && place::is_file(file)).then_some(file)
}

/// Returns source that is echoed through a logger: `[error] > 3 | let x`, `[error]     |     ^`.
fn echoed_at_level(text: &[u8]) -> Option<&[u8]> {
    let source = text.strip_prefix(b"[error] ")?.trim_ascii_start();
    match classify_by_mark(*source.first()?, source, 0) {
        Some((LineRole::Echo, source)) => Some(source),
        _ => None,
    }
}

/// Strips the level before a location: `[ERROR] /src/A.java:[3,5] text`.
fn strip_level(text: &[u8]) -> &[u8] {
    const LEVELS: &[&[u8]] = &[
        b"[ERROR] ", b"e: ", b"[error] ", b"ERROR: ", b"Error: ", b"error: ", b"error - ",
        b"ERROR in ", b"ERROR ", b"fatal: ",
    ];
    if !matches!(text.first(), Some(b'[' | b'E' | b'e' | b'f')) {
        return text;
    }
    let level = LEVELS.iter().find(|level| text.starts_with(level)).map_or(0, |level| level.len());
    let rest = &text[level..];
    let rest = rest.strip_prefix(b"file://").unwrap_or(rest);
    let file = rest.iter().position(|b| matches!(b, b' ' | b':' | b'(')).unwrap_or(0);
    let named = rest[..file].iter().any(u8::is_ascii_alphabetic);
    if named && place::is_file(&rest[..file]) { rest } else { text }
}

/// Returns the role of a line inside a drawn frame.
pub(crate) fn classify_framed(text: &[u8]) -> (LineRole, &[u8]) {
    let skip = text.iter().take_while(|b| matches!(b, b'-' | b'>' | b' ' | b'|')).count();
    classify_spoken(&text[skip..])
}

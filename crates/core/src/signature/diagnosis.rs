//! The diagnosis of an output: its selected lines, masked, with their prose and facts.

use std::borrow::Cow;

use super::Signature;
use super::clean::{LINE_BYTES_MAX, strip_log_prefixes};
use super::mask::{Fact, MaskedText};
use super::role::{self, LineRole, OutputLine};
use super::select::{LINES_MAX, Selection, select_lines};
use crate::code::Code;

/// The diagnostic content of an output.
pub(crate) struct Diagnosis<'a> {
    selection: Selection<'a>,
    masked: MaskedText<'a>,
}

impl<'a> Diagnosis<'a> {
    /// Reads a plain text.
    pub(crate) fn from_plain_text(plain: &'a [u8]) -> Self {
        Self::from_selection(select_lines(plain))
    }

    fn from_selection(selection: Selection<'a>) -> Self {
        let finding = |line: &OutputLine<'a>| {
            matches!(line.role, LineRole::Test | LineRole::TestDetail | LineRole::Finding)
        };
        let masked = mask_lines(&selection.lines, !selection.lines.iter().any(finding));
        Self { selection, masked }
    }

    /// Returns the diagnosis restricted to the lines that `keep` accepts.
    pub(crate) fn filter_lines(&self, keep: impl Fn(&OutputLine<'a>) -> bool) -> Self {
        let kept =
            |lines: &[OutputLine<'a>]| lines.iter().filter(|line| keep(line)).copied().collect();
        let lines = kept(&self.selection.lines);
        let aside = kept(&self.selection.aside);
        Self::from_selection(Selection { lines, aside, text: b"", ..self.selection })
    }

    /// Returns a diagnosis of the lines that were left aside because others say more.
    pub(crate) fn aside_diagnosis(&self) -> Option<Self> {
        if self.selection.aside.is_empty() {
            return None;
        }
        let lines = self.selection.aside.clone();
        let masked = mask_lines(&lines, true);
        let selection = Selection { lines, aside: Vec::new(), ..self.selection };
        Some(Self { selection, masked })
    }

    /// Returns the whole output.
    pub(crate) fn text(&self) -> &'a [u8] {
        self.selection.text
    }

    /// Returns a diagnosis of the whole output, except remarks.
    pub(crate) fn without_remarks(&self) -> Self {
        let lines = last_relevant_lines(self.selection.text);
        let masked = mask_lines(&lines, true);
        Self { selection: Selection { lines, aside: Vec::new(), ..self.selection }, masked }
    }

    /// Returns a diagnosis of the last lines of the output, whatever their role, without frames and numbers
    /// around them.
    pub(crate) fn with_last_lines(&self) -> Self {
        let lines = last_lines(self.selection.text);
        let masked = mask_lines(&lines, true);
        let selection = Selection { lines, aside: Vec::new(), stack: false, ..self.selection };
        Self { selection, masked }
    }

    /// Returns the selected lines.
    pub(crate) fn lines(&self) -> &[OutputLine<'a>] {
        &self.selection.lines
    }

    /// Returns the prose of the lines: lower case, outside quotes, one line each.
    pub(crate) fn prose(&self) -> &[u8] {
        &self.masked.prose
    }

    /// Returns the structured facts of the lines.
    pub(crate) fn facts(&self) -> &[Fact<'a>] {
        &self.masked.facts
    }

    /// Returns the file that the first finding points at on a line of its own.
    pub(crate) fn finding_file(&self) -> Option<&'a [u8]> {
        self.selection.place
    }

    /// Returns whether the failure was raised in code: by an exception, with a stack, or by a statement.
    pub(crate) fn is_raised_in_code(&self) -> bool {
        // A database writes lower case after its level; other tools begin a sentence there.
        let of_database =
            |text: &[u8]| matches!(text.strip_prefix(b"ERROR:  "), Some([b'a'..=b'z', ..]));
        let statement = |line: &OutputLine<'a>| {
            of_database(line.text) || line.file.is_some_and(|file| file.ends_with(b".sql"))
        };
        // A leading class without a stack is a tool's way to name the failure.
        let thrown = |line: &OutputLine<'a>| {
            line.role == LineRole::Exception && !role::is_exception(line.text)
        };
        self.selection.stack
            || self.lines().iter().any(thrown)
            || self.lines().iter().any(statement)
    }

    /// Returns whether any line reports a failure.
    pub(crate) fn reports_failure(&self) -> bool {
        self.selection.diagnostic
    }

    /// Returns whether there is no line at all.
    pub(crate) fn is_silent(&self) -> bool {
        self.selection.lines.is_empty()
    }

    /// Returns the signature: a hash of the set of masked lines, or of the exit code for silent output.
    pub(crate) fn compute_signature(
        &self,
        code: Code,
        place: &str,
        exit: Option<i32>,
    ) -> Signature {
        if self.is_silent() {
            let exit = exit.map(|status| status.to_string()).unwrap_or_default();
            return Signature::from_parts(code, place, &["silent", &exit]);
        }
        Signature::from_bytes(code, place, [self.lines_as_set().as_ref()].into_iter())
    }

    /// Returns the masked lines sorted and deduplicated, because tools that work in parallel report in any
    /// order.
    fn lines_as_set(&self) -> Cow<'_, [u8]> {
        let text = &self.masked.text;
        if memchr::memchr(b'\n', text).is_none_or(|first| first + 1 == text.len()) {
            return Cow::Borrowed(text);
        }
        let mut lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
        lines.sort_unstable();
        lines.dedup();
        Cow::Owned(lines.concat())
    }

    /// Returns the masked lines, for the trained model, tests and tools of this repository.
    pub(crate) fn masked_text(&self) -> &[u8] {
        &self.masked.text
    }
}

/// Masks the lines, with their prose if it is wanted.
fn mask_lines<'a>(lines: &[OutputLine<'a>], wants_prose: bool) -> MaskedText<'a> {
    let mut masked = MaskedText::new(wants_prose);
    for line in lines {
        masked.add_line(line.text);
    }
    masked
}

/// Strips the name of the step or container that printed the line: `web-1  | text`.
fn strip_label(raw: &[u8]) -> &[u8] {
    const NAME_BYTES_MAX: usize = 40;
    let Some(at) = memchr::memmem::find(&raw[..raw.len().min(NAME_BYTES_MAX)], b" | ") else {
        return raw;
    };
    let name = raw[..at].trim_ascii();
    let is_name = !name.is_empty()
        && !name.contains(&b' ')
        && !name.iter().all(u8::is_ascii_digit)
        && name != b"|";
    if is_name { &raw[at + 3..] } else { raw }
}

/// Returns the last lines of a plain text that may name a cause, whatever their role.
fn last_relevant_lines(text: &[u8]) -> Vec<OutputLine<'_>> {
    const REMAINING_MAX: usize = 24;
    let mut lines: Vec<OutputLine<'_>> = Vec::with_capacity(REMAINING_MAX);
    for raw in text.rsplit(|b| *b == b'\n') {
        let raw = strip_log_prefixes(raw);
        // The output of another program follows a mark.
        let said = raw.trim_ascii_start();
        let said = said.strip_prefix(b"# ").or_else(|| said.strip_prefix(b"> "));
        let raw = strip_label(said.unwrap_or(raw));
        let line = role::classify_line(&raw[..raw.len().min(LINE_BYTES_MAX)]);
        if matches!(
            line.role,
            LineRole::Blank | LineRole::Frame | LineRole::Note | LineRole::Progress
        ) {
            continue;
        }
        lines.push(line);
        if lines.len() == REMAINING_MAX {
            break;
        }
    }
    lines.reverse();
    lines
}

/// Returns the last lines of a plain text, each as a line that denies something.
fn last_lines(text: &[u8]) -> Vec<OutputLine<'_>> {
    let frames = |b: &u8| !matches!(b, b'|' | b'-' | b' ' | b':') && !b.is_ascii_digit();
    let bare = |raw: &'_ [u8]| {
        let start = raw.iter().position(frames).unwrap_or(raw.len());
        let raw = &raw[start..];
        let end = raw.iter().rposition(|b| !matches!(b, b'|' | b'-' | b' ')).map_or(0, |at| at + 1);
        start..start + end
    };
    let said = text.rsplit(|b| *b == b'\n').map(|raw| &raw[bare(raw)]);
    let mut lines: Vec<OutputLine<'_>> = said
        .filter(|text| !text.is_empty())
        .take(LINES_MAX)
        .map(|text| &text[..text.len().min(LINE_BYTES_MAX)])
        .map(|text| OutputLine { role: LineRole::Weak, text, file: None, indent: 0, framed: false })
        .collect();
    lines.reverse();
    lines
}

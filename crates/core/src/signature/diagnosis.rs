//! The diagnosis of an output: its selected lines, masked, with their prose and facts.

use std::borrow::Cow;

use super::Signature;
use super::mask::{Fact, MaskedText};
use super::role::{self, LineRole, OutputLine};
use super::select::{Selection, last_lines, last_relevant_lines, select_lines};
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
        let mut masked = MaskedText::new(!selection.lines.iter().any(finding));
        for line in &selection.lines {
            masked.add_line(line.text);
        }
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
        let mut masked = MaskedText::new(true);
        for line in &self.selection.aside {
            masked.add_line(line.text);
        }
        let lines = self.selection.aside.clone();
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
        let mut masked = MaskedText::new(true);
        for line in &lines {
            masked.add_line(line.text);
        }
        Self { selection: Selection { lines, aside: Vec::new(), ..self.selection }, masked }
    }

    /// Returns a diagnosis of the last lines of the output, whatever their role, without frames and numbers
    /// around them.
    pub(crate) fn with_last_lines(&self) -> Self {
        let mut masked = MaskedText::new(true);
        let lines = last_lines(self.selection.text);
        for line in &lines {
            masked.add_line(line.text);
        }
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

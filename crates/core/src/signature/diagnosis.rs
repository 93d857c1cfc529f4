//! The diagnosis of an output: its selected lines, masked, with their prose and facts.

use std::borrow::Cow;

use super::Signature;
use super::mask::{Fact, Masked};
use super::role::{self, Line, Role};
use super::select::{Selection, remaining, select, unsorted};
use crate::fault::Code;

/// The diagnostic content of an output.
pub(crate) struct Diagnosis<'a> {
    selection: Selection<'a>,
    masked: Masked<'a>,
}

impl<'a> Diagnosis<'a> {
    /// Reads a plain text.
    pub(crate) fn of(plain: &'a [u8]) -> Self {
        Self::made_of(select(plain))
    }

    fn made_of(selection: Selection<'a>) -> Self {
        let finding =
            |line: &Line<'a>| matches!(line.role, Role::Test | Role::TestDetail | Role::Finding);
        let mut masked = Masked::new(!selection.lines.iter().any(finding));
        for line in &selection.lines {
            masked.add(line.text);
        }
        Self { selection, masked }
    }

    /// Returns the diagnosis restricted to the lines that `keep` accepts.
    pub(crate) fn only(&self, keep: impl Fn(&Line<'a>) -> bool) -> Self {
        let kept = |lines: &[Line<'a>]| lines.iter().filter(|line| keep(line)).copied().collect();
        let lines = kept(&self.selection.lines);
        let aside = kept(&self.selection.aside);
        Self::made_of(Selection { lines, aside, text: b"", ..self.selection })
    }

    /// Returns a diagnosis of the lines that were left aside because others say more.
    pub(crate) fn aside(&self) -> Option<Self> {
        if self.selection.aside.is_empty() {
            return None;
        }
        let mut masked = Masked::new(true);
        for line in &self.selection.aside {
            masked.add(line.text);
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
    pub(crate) fn remaining(&self) -> Self {
        let lines = remaining(self.selection.text);
        let mut masked = Masked::new(true);
        for line in &lines {
            masked.add(line.text);
        }
        Self { selection: Selection { lines, aside: Vec::new(), ..self.selection }, masked }
    }

    /// Returns a diagnosis of the last lines of the output, whatever their role, without frames and numbers
    /// around them.
    pub(crate) fn unsorted(&self) -> Self {
        let mut masked = Masked::new(true);
        let lines = unsorted(self.selection.text);
        for line in &lines {
            masked.add(line.text);
        }
        let selection = Selection { lines, aside: Vec::new(), stack: false, ..self.selection };
        Self { selection, masked }
    }

    /// Returns the selected lines.
    pub(crate) fn lines(&self) -> &[Line<'a>] {
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
    pub(crate) fn place(&self) -> Option<&'a [u8]> {
        self.selection.place
    }

    /// Returns whether the failure was raised in code: by an exception, with a stack, or by a statement.
    pub(crate) fn raises(&self) -> bool {
        // A database writes lower case after its level; other tools begin a sentence there.
        let of_database =
            |text: &[u8]| matches!(text.strip_prefix(b"ERROR:  "), Some([b'a'..=b'z', ..]));
        let statement = |line: &Line<'a>| {
            of_database(line.text) || line.file.is_some_and(|file| file.ends_with(b".sql"))
        };
        // A leading class without a stack is a tool's way to name the failure.
        let thrown =
            |line: &Line<'a>| line.role == Role::Exception && !role::is_exception(line.text);
        self.selection.stack
            || self.lines().iter().any(thrown)
            || self.lines().iter().any(statement)
    }

    /// Returns whether any line reports a failure.
    pub(crate) fn tells_failure(&self) -> bool {
        self.selection.diagnostic
    }

    /// Returns whether there is no line at all.
    pub(crate) fn is_silent(&self) -> bool {
        self.selection.lines.is_empty()
    }

    /// Returns the signature: a hash of the set of masked lines, or of the exit code for silent output.
    pub(crate) fn signature(&self, code: Code, place: &str, exit: Option<i32>) -> Signature {
        if self.is_silent() {
            let exit = exit.map(|status| status.to_string()).unwrap_or_default();
            return Signature::of_parts(code, place, &["silent", &exit]);
        }
        Signature::of_bytes(code, place, [self.lines_as_set().as_ref()].into_iter())
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
    pub(crate) fn masked(&self) -> &[u8] {
        &self.masked.text
    }
}

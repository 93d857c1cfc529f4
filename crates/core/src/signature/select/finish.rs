//! The final selection at the end of the output, with fallbacks if no line reports a failure.

use super::{Choice, LINES_MAX, Line, Role, Selection, role};

impl<'a> Choice<'a> {
    /// Promotes warnings if the output blames them for the failure, or contains nothing else.
    fn blame_warnings(&mut self) {
        if self.warnings.is_empty() {
            return;
        }
        let blames = |line: &Line<'a>| memchr::memmem::find(line.text, b"arning").is_some();
        let nothing = self.strong.is_empty() && self.last.iter().all(Option::is_none);
        if nothing || (!self.strong.is_empty() && self.strong.iter().all(blames)) {
            let warnings = self.warnings.drain(..).map(|line| Line { role: Role::Said, ..line });
            self.strong.extend(warnings);
        }
    }

    /// Returns the lines that carry the diagnosis.
    pub(super) fn done(mut self, text: &'a [u8]) -> Selection<'a> {
        let only_cause = |line: &Line<'a>| matches!(line.role, Role::Acute | Role::Death);
        let nothing = |line: &Line<'a>| line.role == Role::Said && role::says_nothing(line.text);
        let helps = !self.weak.is_empty();
        if self.strong.iter().all(|line| only_cause(line) || (helps && nothing(line))) {
            // Lines that only name a cause are kept beside those that only deny something.
            self.strong.append(&mut self.weak);
        } else {
            self.strong.retain(|line| line.role != Role::Death);
        }
        if self.strong.len() > LINES_MAX {
            self.strong.sort_by_key(|line| std::cmp::Reverse(line.role.weight()));
            self.strong.truncate(LINES_MAX);
        }
        if self.strong.is_empty() {
            self.strong.extend(self.summary);
        }
        // A warning alone identifies the output, but does not report a failure.
        let diagnostic = !self.strong.is_empty();
        self.blame_warnings();
        if self.strong.is_empty() {
            self.strong.extend(self.last.into_iter().flatten());
        }
        Selection {
            lines: self.strong,
            aside: self.weak,
            diagnostic,
            // A thrown exception is shown with its place too, and is not a finding.
            place: self.place.filter(|_| !self.stack),
            stack: self.stack,
            text,
        }
    }
}

//! The final selection at the end of the output, with fallbacks if no line reports a failure.

use super::{LINES_MAX, LineRole, LineSelector, OutputLine, Selection, role};

impl<'a> LineSelector<'a> {
    /// Promotes warnings if the output blames them for the failure, or contains nothing else.
    fn blame_warnings(&mut self) {
        if self.warnings.is_empty() {
            return;
        }
        let blames = |line: &OutputLine<'a>| memchr::memmem::find(line.text, b"arning").is_some();
        let nothing = self.strong.is_empty() && self.last.iter().all(Option::is_none);
        if nothing || (!self.strong.is_empty() && self.strong.iter().all(blames)) {
            let warnings =
                self.warnings.drain(..).map(|line| OutputLine { role: LineRole::Said, ..line });
            self.strong.extend(warnings);
        }
    }

    /// Returns the lines that carry the diagnosis.
    pub(super) fn into_selection(mut self, text: &'a [u8]) -> Selection<'a> {
        let only_cause =
            |line: &OutputLine<'a>| matches!(line.role, LineRole::Acute | LineRole::Death);
        let nothing =
            |line: &OutputLine<'a>| line.role == LineRole::Said && role::says_nothing(line.text);
        let helps = !self.weak.is_empty();
        if self.strong.iter().all(|line| only_cause(line) || (helps && nothing(line))) {
            // Lines that only name a cause are kept beside those that only deny something.
            self.strong.append(&mut self.weak);
        } else {
            self.strong.retain(|line| line.role != LineRole::Death);
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

//! Selection of the lines that carry the diagnosis.
//!
//! Outputs of the same error differ more in *which lines* are there than in the words on them, so selection
//! comes before any masking.

mod introduced;

use super::clean::{LINE_BYTES_MAX, strip_log_prefixes};
use super::place;
use super::role::{self, LineRole, OutputLine};
use introduced::Introduction;

/// Maximum number of selected lines; more say nothing new.
pub(crate) const LINES_MAX: usize = 8;

/// Maximum number of candidates, of which the most informative are selected.
const CANDIDATES_MAX: usize = 32;

/// Number of last plain lines selected if no line reports a failure.
const LAST_LINES: usize = 3;

/// The diagnostic lines of an output, in the order of appearance.
pub(crate) struct Selection<'a> {
    pub(crate) lines: Vec<OutputLine<'a>>,
    /// Lines that only deny something, if others say more.
    pub(crate) aside: Vec<OutputLine<'a>>,
    /// `true` if any of them reports a failure.
    pub(crate) diagnostic: bool,
    /// `true` if stack frames were printed: the failure was raised in code.
    pub(crate) stack: bool,
    /// The file that a finding points at on a line of its own: ` --> src/a.rs:3:5`.
    pub(crate) place: Option<&'a [u8]>,
    /// The whole output.
    pub(crate) text: &'a [u8],
}

/// The block to which the following lines belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputBlock {
    Open,
    Failure,
    /// A remark with this indentation.
    Aside(usize),
    Stack(usize),
}

/// The kind of the last lines, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecedingLines {
    Anything,
    /// Lines about a failing test.
    Details,
    /// Frames of a traceback, which ends with its exception.
    Traceback,
    /// A failure in a drawn frame that is still open.
    Frame,
    /// The place of a thrown exception, which is followed by its source.
    Place,
}

#[expect(clippy::struct_excessive_bools, reason = "each is what one earlier line said, on its own")]
struct LineSelector<'a> {
    strong: Vec<OutputLine<'a>>,
    /// Lines selected if none is strong.
    weak: Vec<OutputLine<'a>>,
    summary: Option<OutputLine<'a>>,
    /// Warnings, selected if the output blames them or contains nothing else.
    warnings: Vec<OutputLine<'a>>,
    /// The last echoed source line, verbatim.
    source: &'a [u8],
    /// `true` if the last failure does not name its subject.
    nameless: bool,
    last: [Option<OutputLine<'a>>; LAST_LINES],
    block: OutputBlock,
    /// `true` if the block aside is a remark, so that no denial in it counts.
    remarks: bool,
    after: PrecedingLines,
    introduction: Introduction,
    /// The role of the next line, if it is known to be the message.
    message: Option<LineRole>,
    stack: bool,
    /// `true` while the fields of a thrown object are being listed.
    inspected: bool,
    place: Option<&'a [u8]>,
}

/// Selects the diagnostic lines of a plain text.
pub(crate) fn select_lines(text: &[u8]) -> Selection<'_> {
    let mut choice = LineSelector {
        strong: Vec::with_capacity(LINES_MAX),
        weak: Vec::new(),
        summary: None,
        warnings: Vec::new(),
        source: b"",
        nameless: false,
        last: [None; LAST_LINES],
        block: OutputBlock::Open,
        remarks: false,
        after: PrecedingLines::Anything,
        introduction: Introduction { followers: 0, indent: 0, weak: false, counts: false },
        message: None,
        stack: false,
        inspected: false,
        place: None,
    };
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let raw = strip_log_prefixes(&text[start..end]);
        choice.take_line(&raw[..raw.len().min(LINE_BYTES_MAX)]);
        start = end + 1;
    }
    choice.into_selection(text)
}

impl<'a> LineSelector<'a> {
    fn take_line(&mut self, raw: &'a [u8]) {
        if self.inspected {
            self.read_object_field(raw);
            return;
        }
        if let OutputBlock::Stack(indent) = self.block {
            let depth = raw.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if depth > indent && depth < raw.len() {
                return;
            }
        }
        let line = self.classify_line(raw);
        if line.role != LineRole::Blank
            && let Some(role) = self.message.take()
        {
            self.block = OutputBlock::Failure;
            self.keep_line(OutputLine { role, ..line });
            return;
        }
        if self.take_follower(&line) {
            return;
        }
        if self.after == PrecedingLines::Frame && line.framed {
            self.keep_framed(line);
            return;
        }
        if self.after == PrecedingLines::Place && line.indent > 0 && !line.role.is_strong() {
            self.after = PrecedingLines::Anything;
            return;
        }
        if let OutputBlock::Aside(indent) = self.block
            && line.indent > indent
            && (line.role == LineRole::Plain || self.remarks && line.role.is_denial())
        {
            return;
        }
        self.enter_block(&line);
        self.place_line(line);
        if line.role == LineRole::Echo {
            self.keep_marked_source(raw, &line);
        }
    }

    /// Keeps the source that carets mark, if the message does not name its subject.
    fn keep_marked_source(&mut self, raw: &'a [u8], line: &OutputLine<'a>) {
        if self.nameless
            && let Some(text) = role::marked_source(self.source, raw)
        {
            self.keep_line(OutputLine { role: LineRole::Label, text, ..*line });
        }
        self.source = raw;
    }

    /// Reads a line. The line that ends a traceback is an exception, whatever its name.
    fn classify_line(&mut self, raw: &'a [u8]) -> OutputLine<'a> {
        let mut line = role::classify_line(raw);
        let between = matches!(line.role, LineRole::Frame | LineRole::Echo | LineRole::Blank);
        if self.after == PrecedingLines::Traceback && !between {
            self.after = PrecedingLines::Anything;
            let unnamed = matches!(line.role, LineRole::Plain | LineRole::Weak | LineRole::Acute);
            if unnamed && role::is_raised(line.text) {
                line.role = LineRole::Exception;
            }
        }
        line
    }

    /// Records the block to which the following lines belong.
    fn enter_block(&mut self, line: &OutputLine<'a>) {
        self.block = match line.role {
            LineRole::Blank => match self.block {
                OutputBlock::Stack(_) => self.block,
                _ => OutputBlock::Open,
            },
            LineRole::Frame => OutputBlock::Stack(line.indent),
            // A remark ends at a line that is not indented deeper.
            LineRole::Plain => match self.block {
                OutputBlock::Aside(indent) if line.indent <= indent => OutputBlock::Open,
                block => block,
            },
            LineRole::Echo | LineRole::Label => self.block,
            LineRole::Warning | LineRole::Note | LineRole::Progress => {
                self.remarks = line.role != LineRole::Progress;
                OutputBlock::Aside(line.indent)
            }
            role if role.is_strong() => OutputBlock::Failure,
            _ => OutputBlock::Open,
        };
        self.stack |= line.role == LineRole::Frame;
        self.inspected = line.role == LineRole::Frame && line.text.ends_with(b" {");
        self.after = match line.role {
            LineRole::Frame if line.text.starts_with(b"File ") => PrecedingLines::Traceback,
            LineRole::Echo | LineRole::Blank if self.after == PrecedingLines::Traceback => {
                PrecedingLines::Traceback
            }
            LineRole::TestDetail if self.after == PrecedingLines::Details => {
                PrecedingLines::Details
            }
            role if line.framed && role.is_strong() => PrecedingLines::Frame,
            LineRole::Echo if line.file.is_some() => PrecedingLines::Place,
            _ => PrecedingLines::Anything,
        };
    }

    fn place_line(&mut self, line: OutputLine<'a>) {
        match line.role {
            LineRole::Said
            | LineRole::Finding
            | LineRole::Exception
            | LineRole::Test
            | LineRole::Acute
            | LineRole::Death => {
                self.announce_followers(&line, false);
                self.keep_line(line);
            }
            LineRole::TestDetail => self.keep_test_detail(line),
            LineRole::Label if self.block == OutputBlock::Failure => self.keep_line(line),
            LineRole::MessageFollows => self.message = Some(LineRole::Exception),
            LineRole::TestFollows => self.message = Some(LineRole::Test),
            LineRole::StatementFollows => {
                self.record_location(&line);
                self.message = Some(LineRole::Said);
            }
            LineRole::CausesFollow => self.start_introduction(&line, false),
            LineRole::Echo => self.record_location(&line),
            LineRole::Weak => {
                self.record_location(&line);
                self.announce_followers(&line, true);
                self.keep_weak(line);
            }
            LineRole::Summary => self.summary = Some(line),
            LineRole::Warning if self.warnings.len() < LAST_LINES => self.warnings.push(line),
            LineRole::Plain => {
                self.last.rotate_left(1);
                self.last[LAST_LINES - 1] = Some(line);
            }
            _ => {}
        }
    }

    /// Records the file of a location on a line of its own: before the failure, or below it as ` -->
    /// src/a.rs:3:5` or `,-[src/a.rs:3:5]`.
    fn record_location(&mut self, line: &OutputLine<'a>) {
        const DRAWN: [&[u8]; 2] = [b",-[", b"-["];
        if self.place.is_some() {
            return;
        }
        let below = self.block == OutputBlock::Failure;
        let arrow = line.text.strip_prefix(b"--> ").filter(|_| below);
        let drawn = DRAWN.iter().find_map(|frame| line.text.strip_prefix(*frame));
        let lined = || {
            let place = line.text.strip_prefix(b"- ").filter(|_| below)?;
            let file = place.split(|b| *b == b':').next()?;
            place::is_file(file).then_some(place)
        };
        let arrow = arrow.or(drawn).or_else(lined);
        self.place = match arrow {
            Some(place) => place.trim_ascii_start().split(|b| *b == b':').next(),
            None => line.file,
        };
    }

    /// Keeps the first line about a failing test, which says what was expected, and exceptions; the rest are
    /// values.
    fn keep_test_detail(&mut self, line: OutputLine<'a>) {
        let first = self.after != PrecedingLines::Details && !line.text.starts_with(b"File \"");
        if first || role::is_exception(line.text) {
            self.keep_line(line);
        }
        self.after = PrecedingLines::Details;
    }

    /// Keeps the code and the causes of an error that is printed with all its fields.
    fn read_object_field(&mut self, raw: &'a [u8]) {
        if raw.first() == Some(&b'}') {
            self.inspected = false;
            return;
        }
        let line = role::classify_line(raw);
        let text = line.text.strip_prefix(b"[cause]: ").unwrap_or(line.text);
        if text.starts_with(b"code: '") || role::is_exception(text) {
            self.keep_line(OutputLine { text, ..line });
        }
    }

    /// Keeps sentences inside a drawn frame, but not the source they quote.
    fn keep_framed(&mut self, line: OutputLine<'a>) {
        let (role, text) = role::classify_framed(line.text);
        if matches!(role, LineRole::Weak | LineRole::Acute | LineRole::Said | LineRole::Exception) {
            self.keep_line(OutputLine { role: LineRole::Said, text, ..line });
        }
    }

    /// Keeps a line once. If there are too many, a less informative line is removed.
    fn keep_line(&mut self, line: OutputLine<'a>) {
        if line.text.is_empty() || self.strong.iter().any(|kept| kept.text == line.text) {
            return;
        }
        if self.strong.len() < CANDIDATES_MAX {
            self.strong.push(line);
            return;
        }
        let least = self.strong.iter().rposition(|kept| kept.role.weight() < line.role.weight());
        if let Some(at) = least {
            self.strong.remove(at);
            self.strong.push(line);
        }
    }

    fn keep_weak(&mut self, line: OutputLine<'a>) {
        if self.weak.len() < LINES_MAX {
            self.weak.push(line);
        }
    }

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
    fn into_selection(mut self, text: &'a [u8]) -> Selection<'a> {
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

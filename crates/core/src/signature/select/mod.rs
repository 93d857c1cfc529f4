//! Selection of the lines that carry the diagnosis.
//!
//! Outputs of the same error differ more in *which lines* are there than in the words on them, so selection
//! comes before any masking.

mod finish;
mod introduced;

use super::clean::{LINE_BYTES_MAX, unprefixed};
use super::place;
use super::role::{self, Line, Role};
use introduced::Introduction;

/// Maximum number of selected lines; more say nothing new.
pub(crate) const LINES_MAX: usize = 8;

/// Maximum number of candidates, of which the most informative are selected.
const CANDIDATES_MAX: usize = 32;

/// Number of last plain lines selected if no line reports a failure.
const LAST_LINES: usize = 3;

/// The diagnostic lines of an output, in the order of appearance.
pub(crate) struct Selection<'a> {
    pub(crate) lines: Vec<Line<'a>>,
    /// Lines that only deny something, if others say more.
    pub(crate) aside: Vec<Line<'a>>,
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
enum Block {
    Open,
    Failure,
    /// A remark with this indentation.
    Aside(usize),
    Stack(usize),
}

/// The kind of the last lines, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
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
struct Choice<'a> {
    strong: Vec<Line<'a>>,
    /// Lines selected if none is strong.
    weak: Vec<Line<'a>>,
    summary: Option<Line<'a>>,
    /// Warnings, selected if the output blames them or contains nothing else.
    warnings: Vec<Line<'a>>,
    /// The last echoed source line, verbatim.
    source: &'a [u8],
    /// `true` if the last failure does not name its subject.
    nameless: bool,
    last: [Option<Line<'a>>; LAST_LINES],
    block: Block,
    /// `true` if the block aside is a remark, so that no denial in it counts.
    remarks: bool,
    after: After,
    introduction: Introduction,
    /// The role of the next line, if it is known to be the message.
    message: Option<Role>,
    stack: bool,
    /// `true` while the fields of a thrown object are being listed.
    inspected: bool,
    place: Option<&'a [u8]>,
}

/// Selects the diagnostic lines of a plain text.
pub(crate) fn select(text: &[u8]) -> Selection<'_> {
    let mut choice = Choice {
        strong: Vec::with_capacity(LINES_MAX),
        weak: Vec::new(),
        summary: None,
        warnings: Vec::new(),
        source: b"",
        nameless: false,
        last: [None; LAST_LINES],
        block: Block::Open,
        remarks: false,
        after: After::Anything,
        introduction: Introduction { followers: 0, indent: 0, weak: false, counts: false },
        message: None,
        stack: false,
        inspected: false,
        place: None,
    };
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let raw = unprefixed(&text[start..end]);
        choice.take(&raw[..raw.len().min(LINE_BYTES_MAX)]);
        start = end + 1;
    }
    choice.done(text)
}

/// Strips the name of the step or container that printed the line: `web-1  | text`.
fn unlabelled(raw: &[u8]) -> &[u8] {
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
pub(crate) fn remaining(text: &[u8]) -> Vec<Line<'_>> {
    const REMAINING_MAX: usize = 24;
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(REMAINING_MAX);
    for raw in text.rsplit(|b| *b == b'\n') {
        let raw = unprefixed(raw);
        // The output of another program follows a mark.
        let said = raw.trim_ascii_start();
        let said = said.strip_prefix(b"# ").or_else(|| said.strip_prefix(b"> "));
        let raw = unlabelled(said.unwrap_or(raw));
        let line = role::read(&raw[..raw.len().min(LINE_BYTES_MAX)]);
        if matches!(line.role, Role::Blank | Role::Frame | Role::Note | Role::Progress) {
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
pub(crate) fn unsorted(text: &[u8]) -> Vec<Line<'_>> {
    let frames = |b: &u8| !matches!(b, b'|' | b'-' | b' ' | b':') && !b.is_ascii_digit();
    let bare = |raw: &'_ [u8]| {
        let start = raw.iter().position(frames).unwrap_or(raw.len());
        let raw = &raw[start..];
        let end = raw.iter().rposition(|b| !matches!(b, b'|' | b'-' | b' ')).map_or(0, |at| at + 1);
        start..start + end
    };
    let said = text.rsplit(|b| *b == b'\n').map(|raw| &raw[bare(raw)]);
    let mut lines: Vec<Line<'_>> = said
        .filter(|text| !text.is_empty())
        .take(LINES_MAX)
        .map(|text| &text[..text.len().min(LINE_BYTES_MAX)])
        .map(|text| Line { role: Role::Weak, text, file: None, indent: 0, framed: false })
        .collect();
    lines.reverse();
    lines
}

impl<'a> Choice<'a> {
    fn take(&mut self, raw: &'a [u8]) {
        if self.inspected {
            self.in_object(raw);
            return;
        }
        if let Block::Stack(indent) = self.block {
            let depth = raw.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if depth > indent && depth < raw.len() {
                return;
            }
        }
        let line = self.read(raw);
        if line.role != Role::Blank
            && let Some(role) = self.message.take()
        {
            self.block = Block::Failure;
            self.keep(Line { role, ..line });
            return;
        }
        if self.follows(&line) {
            return;
        }
        if self.after == After::Frame && line.framed {
            self.in_frame(line);
            return;
        }
        if self.after == After::Place && line.indent > 0 && !line.role.is_strong() {
            self.after = After::Anything;
            return;
        }
        if let Block::Aside(indent) = self.block
            && line.indent > indent
            && (line.role == Role::Plain || self.remarks && line.role.is_denial())
        {
            return;
        }
        self.enter(&line);
        self.place(line);
        if line.role == Role::Echo {
            self.mark(raw, &line);
        }
    }

    /// Keeps the source that carets mark, if the message does not name its subject.
    fn mark(&mut self, raw: &'a [u8], line: &Line<'a>) {
        if self.nameless
            && let Some(text) = role::marked(self.source, raw)
        {
            self.keep(Line { role: Role::Label, text, ..*line });
        }
        self.source = raw;
    }

    /// Reads a line. The line that ends a traceback is an exception, whatever its name.
    fn read(&mut self, raw: &'a [u8]) -> Line<'a> {
        let mut line = role::read(raw);
        let between = matches!(line.role, Role::Frame | Role::Echo | Role::Blank);
        if self.after == After::Traceback && !between {
            self.after = After::Anything;
            let unnamed = matches!(line.role, Role::Plain | Role::Weak | Role::Acute);
            if unnamed && role::is_raised(line.text) {
                line.role = Role::Exception;
            }
        }
        line
    }

    /// Records the block to which the following lines belong.
    fn enter(&mut self, line: &Line<'a>) {
        self.block = match line.role {
            Role::Blank => match self.block {
                Block::Stack(_) => self.block,
                _ => Block::Open,
            },
            Role::Frame => Block::Stack(line.indent),
            // A remark ends at a line that is not indented deeper.
            Role::Plain => match self.block {
                Block::Aside(indent) if line.indent <= indent => Block::Open,
                block => block,
            },
            Role::Echo | Role::Label => self.block,
            Role::Warning | Role::Note | Role::Progress => {
                self.remarks = line.role != Role::Progress;
                Block::Aside(line.indent)
            }
            role if role.is_strong() => Block::Failure,
            _ => Block::Open,
        };
        self.stack |= line.role == Role::Frame;
        self.inspected = line.role == Role::Frame && line.text.ends_with(b" {");
        self.after = match line.role {
            Role::Frame if line.text.starts_with(b"File ") => After::Traceback,
            Role::Echo | Role::Blank if self.after == After::Traceback => After::Traceback,
            Role::TestDetail if self.after == After::Details => After::Details,
            role if line.framed && role.is_strong() => After::Frame,
            Role::Echo if line.file.is_some() => After::Place,
            _ => After::Anything,
        };
    }

    fn place(&mut self, line: Line<'a>) {
        match line.role {
            Role::Said
            | Role::Finding
            | Role::Exception
            | Role::Test
            | Role::Acute
            | Role::Death => {
                self.announce(&line, false);
                self.keep(line);
            }
            Role::TestDetail => self.detail(line),
            Role::Label if self.block == Block::Failure => self.keep(line),
            Role::MessageFollows => self.message = Some(Role::Exception),
            Role::TestFollows => self.message = Some(Role::Test),
            Role::StatementFollows => {
                self.point(&line);
                self.message = Some(Role::Said);
            }
            Role::CausesFollow => self.introduce(&line, false),
            Role::Echo => self.point(&line),
            Role::Weak => {
                self.point(&line);
                self.announce(&line, true);
                self.keep_weak(line);
            }
            Role::Summary => self.summary = Some(line),
            Role::Warning if self.warnings.len() < LAST_LINES => self.warnings.push(line),
            Role::Plain => {
                self.last.rotate_left(1);
                self.last[LAST_LINES - 1] = Some(line);
            }
            _ => {}
        }
    }

    /// Records the file of a location on a line of its own: before the failure, or below it as ` -->
    /// src/a.rs:3:5` or `,-[src/a.rs:3:5]`.
    fn point(&mut self, line: &Line<'a>) {
        const DRAWN: [&[u8]; 2] = [b",-[", b"-["];
        if self.place.is_some() {
            return;
        }
        let below = self.block == Block::Failure;
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
    fn detail(&mut self, line: Line<'a>) {
        let first = self.after != After::Details && !line.text.starts_with(b"File \"");
        if first || role::is_exception(line.text) {
            self.keep(line);
        }
        self.after = After::Details;
    }

    /// Keeps the code and the causes of an error that is printed with all its fields.
    fn in_object(&mut self, raw: &'a [u8]) {
        if raw.first() == Some(&b'}') {
            self.inspected = false;
            return;
        }
        let line = role::read(raw);
        let text = line.text.strip_prefix(b"[cause]: ").unwrap_or(line.text);
        if text.starts_with(b"code: '") || role::is_exception(text) {
            self.keep(Line { text, ..line });
        }
    }

    /// Keeps sentences inside a drawn frame, but not the source they quote.
    fn in_frame(&mut self, line: Line<'a>) {
        let (role, text) = role::in_frame(line.text);
        if matches!(role, Role::Weak | Role::Acute | Role::Said | Role::Exception) {
            self.keep(Line { role: Role::Said, text, ..line });
        }
    }

    /// Keeps a line once. If there are too many, a less informative line is removed.
    fn keep(&mut self, line: Line<'a>) {
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

    fn keep_weak(&mut self, line: Line<'a>) {
        if self.weak.len() < LINES_MAX {
            self.weak.push(line);
        }
    }
}

//! Which lines carry the diagnosis.
//!
//! Outputs of the same error differ more in *which lines* are there than in the words on them, so
//! the choice comes before any masking.

use super::clean::{LINE_BYTES_MAX, unprefixed};
use super::role::{self, Line, Role};

/// More lines than this say nothing new.
pub(crate) const LINES_MAX: usize = 8;

/// With no line that tells a failure, the last plain ones stand for it.
const LAST_LINES: usize = 3;

/// How many lines below an introducing line belong to it.
const FOLLOWERS_MAX: usize = 4;

/// The diagnostic lines of an output, in the order of appearance.
pub(crate) struct Selection<'a> {
    /// The lines.
    pub(crate) lines: Vec<Line<'a>>,
    /// Whether any of them tells that something failed.
    pub(crate) diagnostic: bool,
    /// Whether stack frames were printed: the failure was raised in code.
    pub(crate) stack: bool,
    /// The file that a finding points at on a line of its own: ` --> src/a.rs:3:5`.
    pub(crate) place: Option<&'a [u8]>,
}

/// What the lines below a line belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Open,
    Failure,
    /// A remark that is indented so far.
    Aside(usize),
    Stack(usize),
}

struct Choice<'a> {
    strong: Vec<Line<'a>>,
    /// Taken when nothing is strong.
    weak: Vec<Line<'a>>,
    summary: Option<Line<'a>>,
    last: [Option<Line<'a>>; LAST_LINES],
    block: Block,
    /// How many lines may still follow an introducing line, and how far it is indented.
    followers: usize,
    indent: usize,
    message_follows: bool,
    message_role: Role,
    detailed: bool,
    weakly: bool,
    /// Whether a drawn frame around a failure is open.
    frame: bool,
    /// Whether the frames of a traceback were just read, which its exception ends.
    raising: bool,
    stack: bool,
    place: Option<&'a [u8]>,
}

/// Chooses the diagnostic lines of a plain text.
pub(crate) fn select(text: &[u8]) -> Selection<'_> {
    let mut choice = Choice {
        strong: Vec::with_capacity(LINES_MAX),
        weak: Vec::new(),
        summary: None,
        last: [None; LAST_LINES],
        block: Block::Open,
        followers: 0,
        indent: 0,
        message_follows: false,
        message_role: Role::Exception,
        detailed: false,
        weakly: false,
        frame: false,
        raising: false,
        stack: false,
        place: None,
    };
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let raw = unprefixed(&text[start..end]);
        choice.take(&raw[..raw.len().min(LINE_BYTES_MAX)]);
        start = end + 1;
        if start > text.len() {
            break;
        }
    }
    choice.done()
}

impl<'a> Choice<'a> {
    fn take(&mut self, raw: &'a [u8]) {
        if let Block::Stack(indent) = self.block {
            let depth = raw.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if depth > indent && depth < raw.len() {
                return;
            }
        }
        let mut line = role::read(raw);
        if self.raising && !matches!(line.role, Role::Frame | Role::Echo | Role::Blank) {
            self.raising = false;
            if matches!(line.role, Role::Plain | Role::Weak | Role::Acute)
                && role::is_raised(line.text)
            {
                line.role = Role::Exception;
            }
        }
        if self.message_follows && line.role != Role::Blank {
            self.message_follows = false;
            self.block = Block::Failure;
            self.keep(Line { role: self.message_role, ..line });
            return;
        }
        if self.follows(&line) {
            return;
        }
        if self.frame && line.framed {
            self.in_frame(line);
            return;
        }
        self.frame = line.framed && line.role.is_strong();
        if let Block::Aside(indent) = self.block
            && line.indent > indent
            && matches!(line.role, Role::Plain | Role::Weak | Role::Acute)
        {
            return;
        }
        self.place(line);
    }

    /// Takes an indented line that an introducing line announced.
    fn follows(&mut self, line: &Line<'a>) -> bool {
        if self.followers == 0 {
            return false;
        }
        let belongs = line.indent > self.indent
            && !matches!(line.role, Role::Blank | Role::Echo | Role::Frame | Role::Label);
        if belongs {
            self.followers -= 1;
            let role = if line.role.is_strong() { line.role } else { Role::Said };
            if self.weakly && !line.role.is_strong() {
                self.keep_weak(*line);
            } else {
                self.keep(Line { role, ..*line });
            }
        } else if line.role != Role::Blank {
            self.followers = 0;
        }
        belongs
    }

    fn place(&mut self, line: Line<'a>) {
        self.block = match line.role {
            Role::Blank => match self.block {
                Block::Stack(_) => self.block,
                _ => Block::Open,
            },
            Role::Frame => Block::Stack(line.indent),
            Role::Echo | Role::Label => self.block,
            Role::Warning | Role::Note | Role::Progress => Block::Aside(line.indent),
            role if role.is_strong() => Block::Failure,
            Role::Plain => self.block,
            _ => Block::Open,
        };
        if line.role != Role::TestDetail {
            self.detailed = false;
        }
        if line.role == Role::Frame {
            self.stack = true;
            self.raising = line.text.starts_with(b"File ");
        }
        match line.role {
            Role::Said
            | Role::Finding
            | Role::Exception
            | Role::Test
            | Role::Acute
            | Role::Death => {
                self.announce(&line);
                self.weakly = false;
                self.keep(line);
            }
            Role::TestDetail => self.detail(line),
            Role::Label if self.block == Block::Failure => self.keep(line),
            Role::MessageFollows | Role::StatementFollows => {
                self.message_follows = true;
                let raised = line.role == Role::MessageFollows;
                self.message_role = if raised { Role::Exception } else { Role::Said };
            }
            Role::CausesFollow => {
                self.followers = FOLLOWERS_MAX;
                self.indent = line.indent;
                self.weakly = false;
            }
            Role::Echo if self.place.is_none() && self.block == Block::Failure => {
                self.place = line
                    .text
                    .strip_prefix(b"--> ")
                    .map(|place| place.split(|b| *b == b':').next().unwrap_or(place));
            }
            Role::Weak => {
                self.announce(&line);
                self.weakly = true;
                self.keep_weak(line);
            }
            Role::Summary => self.summary = Some(line),
            Role::Plain => {
                self.last.rotate_left(1);
                self.last[LAST_LINES - 1] = Some(line);
            }
            _ => {}
        }
    }

    /// Of the lines about a failing test the first tells what was expected, and an exception what
    /// was raised; the rest are values.
    fn detail(&mut self, line: Line<'a>) {
        let raised = role::is_exception(line.text);
        if raised || (!self.detailed && !line.text.starts_with(b"File \"")) {
            self.keep(line);
        }
        self.detailed = true;
    }

    /// Inside a frame only sentences count, not the source they quote.
    fn in_frame(&mut self, line: Line<'a>) {
        let (role, text) = role::in_frame(line.text);
        if matches!(role, Role::Weak | Role::Acute | Role::Said | Role::Exception) {
            self.keep(Line { role: Role::Said, text, ..line });
        }
    }

    /// A line that ends with a colon introduces what stands indented below.
    fn announce(&mut self, line: &Line<'a>) {
        if line.text.last() == Some(&b':') {
            self.followers = FOLLOWERS_MAX;
            self.indent = line.indent;
        }
    }

    fn keep(&mut self, line: Line<'a>) {
        if self.strong.len() >= LINES_MAX || line.text.is_empty() {
            return;
        }
        if !self.strong.iter().any(|kept| kept.text == line.text) {
            self.strong.push(line);
        }
    }

    fn keep_weak(&mut self, line: Line<'a>) {
        if self.weak.len() < LINES_MAX {
            self.weak.push(line);
        }
    }

    fn done(mut self) -> Selection<'a> {
        if self.strong.iter().any(|line| line.role.is_strong()) {
            self.strong.retain(|line| line.role != Role::Death);
        }
        // Lines that only name a cause stand beside those that only deny something.
        if self.strong.iter().all(|line| matches!(line.role, Role::Acute | Role::Death)) {
            self.weak.truncate(LINES_MAX - self.strong.len());
            self.strong.append(&mut self.weak);
        }
        if !self.strong.is_empty() {
            return Selection {
                lines: self.strong,
                diagnostic: true,
                place: self.place,
                stack: self.stack,
            };
        }
        if let Some(summary) = self.summary {
            return Selection {
                lines: vec![summary],
                diagnostic: true,
                place: self.place,
                stack: self.stack,
            };
        }
        let lines = self.last.into_iter().flatten().collect();
        Selection { lines, diagnostic: false, place: None, stack: self.stack }
    }
}

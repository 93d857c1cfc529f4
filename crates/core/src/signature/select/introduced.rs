//! Lines that belong to the line above them, which announces, lists or counts them.

use super::{LINES_MAX, LineRole, LineSelector, OutputLine, role};

/// Maximum number of lines that belong to an introducing line.
const FOLLOWERS_MAX: usize = 4;

/// An introducing line: the number of lines that may still follow, its indentation, and whether it only
/// denies something.
#[derive(Clone, Copy)]
pub(super) struct Introduction {
    pub(super) followers: usize,
    pub(super) indent: usize,
    pub(super) weak: bool,
    /// `true` if it only counts the lines below, at any depth.
    pub(super) counts: bool,
}

/// Returns the cause after its number: `1: the connection was refused`. A stack frame is a single word.
fn numbered_cause<'a>(line: &OutputLine<'a>) -> Option<&'a [u8]> {
    let digits = line.text.iter().take_while(|b| b.is_ascii_digit()).count();
    let cause = line.text[digits..].strip_prefix(b": ")?;
    let sentence = cause.iter().filter(|b| **b == b' ').nth(1).is_some();
    (line.role == LineRole::Frame && digits > 0 && sentence).then_some(cause)
}

impl<'a> LineSelector<'a> {
    /// Takes an indented line that an introducing line announced.
    pub(super) fn take_follower(&mut self, line: &OutputLine<'a>) -> bool {
        let Introduction { followers, indent, weak, counts } = self.introduction;
        if followers == 0 {
            return false;
        }
        if counts {
            return self.take_counted(line);
        }
        if let Some(cause) = numbered_cause(line).filter(|_| line.indent > indent) {
            self.introduction.followers -= 1;
            self.keep_line(OutputLine { role: LineRole::Said, text: cause, ..*line });
            return true;
        }
        let apart = matches!(
            line.role,
            LineRole::Blank | LineRole::Echo | LineRole::Frame | LineRole::Label
        );
        // A sentence directly below belongs to it without indentation.
        let next = followers == FOLLOWERS_MAX && !weak && line.indent == indent;
        let sentence = matches!(line.role, LineRole::Weak | LineRole::Acute);
        let belongs = (line.indent > indent && !apart) || (next && sentence);
        if belongs {
            self.introduction.followers -= 1;
            match line.role.is_strong() {
                true => self.keep_line(*line),
                false if weak => self.keep_weak(*line),
                false => self.keep_line(OutputLine { role: LineRole::Said, ..*line }),
            }
        } else if line.role != LineRole::Blank {
            self.introduction.followers = 0;
        }
        belongs
    }

    /// Takes a counted line; remarks in between do not end the list.
    fn take_counted(&mut self, line: &OutputLine<'a>) -> bool {
        match line.role {
            LineRole::Blank | LineRole::Frame => self.introduction.followers = 0,
            LineRole::Summary | LineRole::Note | LineRole::Echo => {}
            _ => {
                self.introduction.followers -= 1;
                self.keep_line(OutputLine { role: LineRole::Said, ..*line });
            }
        }
        self.introduction.followers > 0
    }

    /// Marks a line as introducing the indented lines below if it ends with a colon, is a bare code or lacks
    /// the name of its subject: `error: [GHC-88464]`.
    pub(super) fn announce_followers(&mut self, line: &OutputLine<'a>, weak: bool) {
        let code = || memchr::memmem::find(line.text, b": [").is_some_and(|at| at < 8);
        self.nameless =
            matches!(line.role, LineRole::Said | LineRole::Finding) && role::lacks_name(line.text);
        let opens = match line.text.last() {
            Some(b':') => true,
            Some(b']') => code(),
            Some(b'{') => line.text.ends_with(b": {"),
            _ => self.nameless,
        };
        if opens {
            self.start_introduction(line, weak);
        } else if line.role == LineRole::Exception && role::counts_errors(line.text) {
            self.start_introduction(line, false);
            self.introduction =
                Introduction { followers: LINES_MAX - 1, counts: true, ..self.introduction };
        }
    }

    pub(super) fn start_introduction(&mut self, line: &OutputLine<'a>, weak: bool) {
        self.introduction =
            Introduction { followers: FOLLOWERS_MAX, indent: line.indent, weak, counts: false };
    }
}

//! The lines of an output that belong to a failed test: between the header that its runner prints and the next
//! header or total. A free message of a test (`sum was -1`) is known only by this place.
//!
//! Lines without a value of the test are left out: source code, frames of a stack, captured output.

use std::collections::BTreeSet;

use super::is_summary;
use super::runners::{
    is_numbered, parse_dotnet, parse_exunit, parse_jest, parse_prove, parse_tap, parse_vitest,
};

/// The kind of the section that a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionKind {
    /// No failed test.
    Outside,
    /// `--- FAIL: TestA`, and below it the indented messages of Go.
    Go,
    /// The output of an example of Go, which is not indented.
    GoExample,
    /// The message of a panic of Rust, up to its backtrace.
    Panic,
    /// Comments and indented facts below `not ok 2 - b`.
    Tap,
    /// `1) Cart adds up` in a list of failures.
    Numbered,
    /// A test of jest or vitest, with its message and a piece of source code.
    Script,
    /// `Error Message:` of a test of dotnet.
    Message,
    /// The text of a `<failure>` in `JUnit` XML.
    Xml,
    /// `Failed example:` of Python's doctest, with what it returns.
    Example,
    /// `calc_test.cc:5: Failure` of googletest.
    Googletest,
}

/// Reads an output line by line.
pub(super) struct SectionReader<'a> {
    tests: &'a BTreeSet<String>,
    kind: SectionKind,
    /// `true` after the line that begins the list of failures.
    has_list: bool,
}

impl<'a> SectionReader<'a> {
    pub(super) fn new(tests: &'a BTreeSet<String>) -> Self {
        Self { tests, kind: SectionKind::Outside, has_list: false }
    }

    /// Returns whether the next line of the output is a message of a failed test.
    pub(super) fn read_line(&mut self, line: &str) -> bool {
        let said = line.trim();
        self.has_list |= begins_list(said);
        if let Some(kind) = self.find_header(line, said) {
            self.kind = kind;
            return false;
        }
        if self.kind != SectionKind::Outside && ends_section(self.kind, line, said) {
            self.kind = SectionKind::Outside;
        }
        let has_words = said.contains(char::is_alphanumeric);
        let is_noise = is_source(said) || is_summary(said) || is_progress(said);
        self.kind != SectionKind::Outside && has_words && !is_noise
    }

    /// Returns the kind of the section that a header begins: that of a test that passed is outside.
    fn find_header(&self, line: &str, said: &str) -> Option<SectionKind> {
        if said.starts_with("--- FAIL: ") {
            return Some(SectionKind::Go);
        }
        if let Some(rest) = said.strip_prefix("=== ") {
            let name = rest.split_whitespace().nth(1)?;
            let is_red = self.tests.contains(name);
            return Some(if is_red { SectionKind::Go } else { SectionKind::Outside });
        }
        if self.kind == SectionKind::Go && said == "got:" {
            return Some(SectionKind::GoExample);
        }
        if said.starts_with("thread '") && said.contains(" panicked at ") {
            return Some(SectionKind::Panic);
        }
        if said.starts_with("not ok ") {
            let is_red = parse_tap(line).is_some();
            return Some(if is_red { SectionKind::Tap } else { SectionKind::Outside });
        }
        if said.starts_with('#') && parse_prove(line).is_some() {
            return Some(SectionKind::Tap);
        }
        if parse_jest(line).is_some() || parse_vitest(line).is_some_and(|name| name.contains(" > "))
        {
            return Some(SectionKind::Script);
        }
        if parse_dotnet(line).is_some() {
            return Some(SectionKind::Outside);
        }
        if parse_exunit(line).is_some() {
            return Some(SectionKind::Numbered);
        }
        if said == "Failed example:" {
            return Some(SectionKind::Example);
        }
        if said.ends_with(": Failure") {
            return Some(SectionKind::Googletest);
        }
        if said == "Error Message:" {
            return Some(SectionKind::Message);
        }
        if said.contains("<failure") || said.contains("<error") {
            let is_closed =
                said.contains("</failure>") || said.contains("</error>") || said.ends_with("/>");
            return Some(if is_closed { SectionKind::Outside } else { SectionKind::Xml });
        }
        (self.has_list && is_numbered(said) && !line.starts_with("      "))
            .then_some(SectionKind::Numbered)
    }
}

/// Returns whether a line begins the list of failures of mocha, rspec or phpunit.
fn begins_list(said: &str) -> bool {
    let counts = said.split_once(' ').is_some_and(|(number, rest)| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && rest == "failing"
    });
    counts
        || said == "Failures:"
        || (said.starts_with("There w") && (said.ends_with(':') && said.contains(" failure")))
}

/// Beginnings of lines that end the section of a failed test.
const ENDS: &[(SectionKind, &[&str])] = &[
    (SectionKind::Go, &["--- ", "goroutine ", "FAIL\t", "ok  \t", "exit status "]),
    (SectionKind::GoExample, &["--- ", "FAIL", "PASS", "ok  \t", "exit status ", "want:"]),
    (
        SectionKind::Panic,
        &[
            "note: ", "stack backtrace:", "---- ", "--- ", "failures:", "test ", "running ",
            "PASS [", "FAIL [", "SLOW [", "Summary [", "Cancel", "stdout ", "stderr ", "error: ",
            "\u{2500}\u{2500}", "SIG", "TIMEOUT [", "warning: ",
        ],
    ),
    (SectionKind::Tap, &["ok ", "1..", "# Subtest", "# Looks like", "# tests ", "Bail out!"]),
    (
        SectionKind::Numbered,
        &["Finished in", "Failed examples:", "FAILURES!", "ERRORS!", "Tests:", "--", "Top "],
    ),
    (
        SectionKind::Script,
        &[
            "* ", "PASS ", "FAIL ", "RUNS ", "Test Suites:", "Test Files", "Tests", "Snapshots",
            "Time:", "Ran all", "Start at", "Duration", "A worker process",
        ],
    ),
    (SectionKind::Message, &["Stack Trace:", "Standard Output", "Passed ", "Skipped "]),
    (SectionKind::Xml, &["</failure>", "</error>", "</testcase>"]),
    (SectionKind::Example, &["****"]),
    (SectionKind::Googletest, &["[  "]),
];

fn ends_section(kind: SectionKind, line: &str, said: &str) -> bool {
    let is_outdented = !said.is_empty() && !line.starts_with([' ', '\t']);
    let leaves = match kind {
        SectionKind::Go => is_outdented && !said.starts_with("panic: "),
        SectionKind::Tap => is_outdented && !said.starts_with('#'),
        _ => false,
    };
    let mut ends = ENDS.iter().filter(|(of, _)| *of == kind).flat_map(|(_, starts)| *starts);
    leaves || ends.any(|start| said.starts_with(start))
}

/// Returns whether a line is about the run and not about a test: `# finished at 12:30:01 in 0.2 s`.
fn is_progress(said: &str) -> bool {
    const WORDS: [&str; 8] =
        ["finished", "done", "took", "ran", "time", "elapsed", "duration", "completed"];
    let first = said.trim_start_matches(['#', ' ']).split([' ', ':', '=']).next();
    first.is_some_and(|first| WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)))
}

/// Returns whether a line is source code with its number, a mark below it, or a frame of a stack.
fn is_source(said: &str) -> bool {
    let code = said.trim_start_matches(['>', ' ']);
    let is_code = code
        .split_once('|')
        .is_some_and(|(number, _)| number.trim_end().bytes().all(|byte| byte.is_ascii_digit()));
    let frames = ["at ", "# ./", "# /", "> ", "\u{276f} ", "from ", "stack:", "location:"];
    is_code || frames.iter().any(|start| said.starts_with(start))
}

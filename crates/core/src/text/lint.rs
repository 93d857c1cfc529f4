//! The linter for Unstuck's own sentences: finds technical detail that a person outside the field would not
//! understand.
//!
//! It reads the text word by word, in one pass, with the shapes in `known` and the lists in `words`, and
//! computes the reading grade. It is for Unstuck's own words only: foreign words are in quotation marks
//! ([`our_words`]) and are never judged.
//!
//! [`our_words`]: super::our_words

use std::fmt;

use super::bounded::{MARKS_MAX, is_hidden, is_mark};
use super::grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
use super::known;
use super::words::{COUNTED, JARGON, JARGON_PAIRS, NUMBERED, is_listed};

/// Maximum length of a text; of longer ones, which are rejected, only this much is checked.
pub const LINT_BYTES_MAX: usize = 16 * 1_024;
/// Maximum number of findings.
pub const FINDINGS_MAX: usize = 32;
/// Maximum length of the text quoted in a finding.
const QUOTE_CHARS_MAX: usize = 60;

/// The rule that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintRule {
    /// A path or an address.
    Path,
    /// A file name.
    FileName,
    /// A line number.
    LineNumber,
    /// A fault code, of Unstuck or of a vendor.
    FaultCode,
    /// A line of a stack.
    StackFrame,
    /// The name of a type or class.
    TypeName,
    /// A name from a program: a variable, a function, a setting.
    Identifier,
    /// A hash, an id or a key.
    Hash,
    /// An exit code or a signal.
    ExitCode,
    /// An HTTP status number.
    HttpStatus,
    /// A word that people outside the field do not use.
    Jargon,
    /// Characters that a page, a chat or a terminal could interpret as markup.
    Markup,
    /// A control character or an invisible one.
    Control,
    /// A text longer than [`LINT_BYTES_MAX`].
    TooLong,
    /// A reading grade above 8.
    Grade,
}

/// A problem in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFinding {
    /// The broken rule.
    pub rule: LintRule,
    /// The offending words, shortened.
    pub what: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// Returns all findings in a public text; empty if it may be shown.
pub fn lint_text(text: &str) -> Vec<LintFinding> {
    let mut findings = Vec::new();
    let text = bound_text(text, &mut findings);
    check_signs(text, &mut findings);
    check_words(text, &mut findings);
    let grade = grade_hundredths(text);
    if grade > GRADE_MAX_HUNDREDTHS {
        add_finding(
            &mut findings,
            LintRule::Grade,
            &format!("grade {}.{:02}", grade / 100, grade % 100),
        );
    }
    findings.truncate(FINDINGS_MAX);
    findings
}

fn add_finding(findings: &mut Vec<LintFinding>, rule: LintRule, what: &str) {
    if findings.len() < FINDINGS_MAX {
        let what = what.chars().filter(|c| !is_control(*c)).take(QUOTE_CHARS_MAX).collect();
        findings.push(LintFinding { rule, what });
    }
}

fn bound_text<'a>(text: &'a str, findings: &mut Vec<LintFinding>) -> &'a str {
    if text.len() <= LINT_BYTES_MAX {
        return text;
    }
    add_finding(findings, LintRule::TooLong, &format!("{} bytes", text.len()));
    &text[..text.floor_char_boundary(LINT_BYTES_MAX)]
}

/// Finds characters that are wrong anywhere.
fn check_signs(text: &str, findings: &mut Vec<LintFinding>) {
    if let Some(sign) = text.chars().find(|&c| c != '\n' && is_control(c)) {
        add_finding(findings, LintRule::Control, &format!("U+{:04X}", u32::from(sign)));
    }
    if let Some(sign) =
        text.chars().find(|c| matches!(c, '<' | '>' | '`' | '{' | '}' | '[' | ']' | '|' | '*'))
    {
        add_finding(findings, LintRule::Markup, &sign.to_string());
    }
    // A chat would notify every member of the room.
    if let Some(name) = text.split_whitespace().find(|word| word.contains('@')) {
        add_finding(findings, LintRule::Markup, name);
    }
    if has_piled_marks(text) {
        add_finding(findings, LintRule::Control, "marks piled on a letter");
    }
}

/// Returns whether a letter has more accents than any language uses, which cover the lines around it.
fn has_piled_marks(text: &str) -> bool {
    let mut piled = 0;
    text.chars().any(|sign| {
        piled = if is_mark(sign) { piled + 1 } else { 0 };
        piled > MARKS_MAX
    })
}

/// Returns whether a character is a control, formatting, private or invisible one, which no sentence needs.
fn is_control(sign: char) -> bool {
    sign.is_control() || is_hidden(sign) || matches!(sign, '\u{200c}' | '\u{200d}')
}

fn check_words(text: &str, findings: &mut Vec<LintFinding>) {
    let mut tokens = text.split_whitespace().map(LintWord::from_token).peekable();
    let mut before = String::new();
    while let Some(word) = tokens.next() {
        if findings.len() >= FINDINGS_MAX {
            return;
        }
        let after = tokens.peek().map(|next| next.lower.as_str()).unwrap_or_default();
        if let Some(rule) = word.broken_rule(&before, after) {
            add_finding(findings, rule, word.given);
        }
        before = word.lower;
    }
}

type WordShape = fn(&str) -> bool;

/// The shapes that break a rule, most specific first.
const SHAPES: [(WordShape, LintRule); 10] = [
    (known::is_path, LintRule::Path),
    (known::is_network_address, LintRule::Path),
    (known::is_fault_code, LintRule::FaultCode),
    (known::is_vendor_code, LintRule::FaultCode),
    (known::is_file_name, LintRule::FileName),
    (known::is_snake_case, LintRule::Identifier),
    (known::is_expression, LintRule::Identifier),
    (known::is_hash, LintRule::Hash),
    (known::is_type_name, LintRule::TypeName),
    (known::is_camel_case, LintRule::Identifier),
];

/// A token: verbatim, without the punctuation around it, and in lower case.
struct LintWord<'a> {
    given: &'a str,
    bare: &'a str,
    lower: String,
}

impl<'a> LintWord<'a> {
    fn from_token(given: &'a str) -> Self {
        let open = |c: char| matches!(c, '(' | '“' | '"' | '\'' | '‘' | '„' | '«' | '…' | ',');
        let close = |c: char| {
            matches!(
                c,
                ')' | '”' | '"' | '\'' | '’' | '»' | '…' | ',' | '.' | ';' | ':' | '!' | '?'
            )
        };
        let bare = given.trim_start_matches(open);
        // A call keeps its brackets: `run()` is not the word `run`.
        let bare = if bare.contains('(') {
            bare.trim_end_matches(['.', ',', ';', ':', '!', '?'])
        } else {
            bare.trim_end_matches(close)
        };
        Self { given, bare, lower: bare.to_lowercase() }
    }

    /// Returns the first rule the word breaks, most specific first.
    fn broken_rule(&self, before: &str, after: &str) -> Option<LintRule> {
        if self.bare.is_empty() || known::is_familiar(&self.lower) {
            return None;
        }
        self.place_rule(before)
            .or_else(|| self.shape_rule())
            .or_else(|| self.meaning_rule(before, after))
    }

    /// Returns the rule for places in code: `line 42`, `main:42`, `at run(`.
    fn place_rule(&self, before: &str) -> Option<LintRule> {
        let number = self.bare.starts_with(|c: char| c.is_ascii_digit());
        if number && matches!(before, "line" | "lines" | "column" | "col" | "ln" | "offset") {
            return Some(LintRule::LineNumber);
        }
        let after_colon = self.bare.rsplit_once(':').is_some_and(|(_, line)| {
            !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
        });
        if after_colon && !known::is_clock(self.bare) {
            return Some(LintRule::LineNumber);
        }
        (before == "at" && self.bare.contains('(')).then_some(LintRule::StackFrame)
    }

    fn shape_rule(&self) -> Option<LintRule> {
        if known::is_ordinary(self.bare) {
            return None;
        }
        SHAPES.iter().find(|(test, _)| test(self.bare)).map(|&(_, rule)| rule)
    }

    fn meaning_rule(&self, before: &str, after: &str) -> Option<LintRule> {
        let word = self.lower.as_str();
        let number = word.strip_prefix('#').unwrap_or(word).parse::<u32>().ok();
        if number.is_some()
            && matches!(before, "exit" | "exited" | "code" | "status" | "signal" | "errno")
        {
            return Some(LintRule::ExitCode);
        }
        if number.is_some_and(|n| (400..600).contains(&n))
            && !is_listed(COUNTED, after)
            && !is_listed(NUMBERED, before)
        {
            return Some(LintRule::HttpStatus);
        }
        if matches!(
            (before, word),
            ("exit" | "return" | "error" | "status", "code") | ("exit", "status")
        ) {
            return Some(LintRule::ExitCode);
        }
        if matches!(word, "traceback" | "backtrace" | "stacktrace") {
            return Some(LintRule::StackFrame);
        }
        let pair = JARGON_PAIRS.binary_search(&(before, word)).is_ok();
        let parts = word.split('-').any(|part| {
            is_listed(JARGON, part)
                || part.strip_suffix('s').is_some_and(|one| is_listed(JARGON, one))
        });
        (pair || parts).then_some(LintRule::Jargon)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fault::Code;

    #[test]
    fn technical_detail_is_found() {
        // T1.6
        let cases = [
            (LintRule::Path, "the file /etc/hosts is gone"),
            (LintRule::Path, "look into src/login first"),
            (LintRule::Path, "it is in C:\\temp now"),
            (LintRule::Path, "see https://example.com for more"),
            (LintRule::FileName, "the test in login.py fails"),
            (LintRule::FileName, "(see Cargo.toml)"),
            (LintRule::FileName, "your .env is empty"),
            (LintRule::LineNumber, "it fails on line 42"),
            (LintRule::LineNumber, "it fails at main:42"),
            (LintRule::LineNumber, "it listens on :8080"),
            (LintRule::Path, "the server at 10.0.0.7 is down"),
            (LintRule::Identifier, "write to bob@example.com"),
            (LintRule::FaultCode, "this is PROVIDER_CRASH again"),
            (LintRule::FaultCode, "this is provider_crash again"),
            (LintRule::FaultCode, "the compiler says E0308"),
            (LintRule::FaultCode, "it ended with ECONNREFUSED"),
            (LintRule::StackFrame, "a traceback was shown"),
            (LintRule::StackFrame, "it stopped at handler(main) again"),
            (LintRule::TypeName, "a KeyError came up"),
            (LintRule::TypeName, "the PaymentService is down"),
            (LintRule::Identifier, "the userName is empty"),
            (LintRule::Identifier, "set API_KEY first"),
            (LintRule::Identifier, "call run() again"),
            (LintRule::Identifier, "set $HOME first"),
            (LintRule::Identifier, "use --force next time"),
            (LintRule::Identifier, "go to evil.com now"),
            (LintRule::Identifier, "std::mem is odd"),
            (LintRule::Hash, "since commit 3f9ab12c"),
            (LintRule::Hash, "request 550e8400-e29b-41d4-a716-446655440000"),
            (LintRule::Hash, "the key sk-ant-api03-AAAABBBBCCCC1111"),
            (LintRule::Hash, "at 0xdeadbeef"),
            (LintRule::ExitCode, "it ended with exit status one"),
            (LintRule::ExitCode, "exit code"),
            (LintRule::ExitCode, "it exited 137"),
            (LintRule::ExitCode, "signal 9"),
            (LintRule::HttpStatus, "it said 401 to me"),
            (LintRule::HttpStatus, "HTTP error (503)"),
            (LintRule::Jargon, "read from stdin"),
            (LintRule::Jargon, "look at stderr"),
            (LintRule::Jargon, "the regex is wrong"),
            (LintRule::Jargon, "a null pointer"),
            (LintRule::Jargon, "use UUIDs for orders"),
            (LintRule::Jargon, "the stack trace shows it"),
            (LintRule::Jargon, "an environment variable is missing"),
            (LintRule::Jargon, "the non-idempotent call"),
            (LintRule::Markup, "hello <b>world</b>"),
            (LintRule::Markup, "see [this](that)"),
            (LintRule::Markup, "run `it`"),
            (LintRule::Markup, "it is **bold**"),
            (LintRule::Markup, "hello @everyone"),
            (LintRule::Control, "e\u{301}\u{302}\u{303} on top"),
            (LintRule::Control, "red \u{1b} text"),
            (LintRule::Control, "left \u{202e} right"),
            (LintRule::Control, "zero\u{200b}width"),
            (LintRule::Control, "a tab\there"),
        ];
        for (rule, text) in cases {
            let findings = lint_text(text);
            assert!(findings.iter().any(|found| found.rule == rule), "{text:?}: {findings:?}");
        }
    }

    #[test]
    fn plain_english_passes() {
        let plain = [
            "I was working on “Add a login page”. The hosting account refused the key.",
            "It resumes at 03:00 or 03:00:30, in 1 hour 47 minutes. It has cost $0.31 so far.",
            "3 of 400 tasks are done, and 12 files changed.",
            "GitHub and PayPal are fine, and so is Node.js.",
            "Mrs McCoy asked for a PDF and/or a printed page, 24/7.",
            "Is it OK to go on? Yes/no is enough; we're open 9 a.m. to 5 p.m., e.g. today.",
            "The error came back (twice), so I ask.",
            "Show a 404 page for missing products",
            "Add two-factor authentication",
            "Passwort zurücksetzen reparieren",
            "ログインページを修正",
            "",
        ];
        for text in plain {
            assert_eq!(lint_text(text), [], "{text:?}");
        }
    }

    #[test]
    fn hard_words_are_found_by_their_grade() {
        let hard = "Subsequent authentication necessitates administrative reauthorisation of the \
                    corresponding organisational credentials.";
        assert!(lint_text(hard).iter().any(|found| found.rule == LintRule::Grade));
    }

    #[test]
    fn every_code_is_found() {
        for code in Code::ALL {
            let text = format!("it was {code} again");
            assert!(
                lint_text(&text).iter().any(|found| found.rule == LintRule::FaultCode),
                "{code}"
            );
        }
    }

    #[test]
    fn long_texts_are_refused_and_findings_bounded() {
        let long = "word ".repeat(LINT_BYTES_MAX);
        assert!(lint_text(&long).iter().any(|found| found.rule == LintRule::TooLong));
        assert_eq!(lint_text(&"a_b ".repeat(1_000)).len(), FINDINGS_MAX);
        // A multi-byte character at the limit is not cut in two.
        assert!(!lint_text(&"é".repeat(LINT_BYTES_MAX)).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_harm(text in any::<String>()) {
            for found in lint_text(&text) {
                prop_assert!(found.what.chars().count() <= 60);
                prop_assert!(!found.what.chars().any(char::is_control));
            }
        }
    }
}

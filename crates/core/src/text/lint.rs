//! The linter for Unstuck's own sentences: finds technical detail that a person outside the field would not
//! understand.
//!
//! It reads the text word by word, in one pass, with the shapes in `known` and the lists in `words`, and
//! computes the reading grade. It is for Unstuck's own words only: foreign words are in quotation marks
//! ([`our_words`]) and are never judged.
//!
//! [`our_words`]: super::our_words

use std::fmt;

use super::grade::{GRADE_MAX_HUNDREDTHS, grade_hundredths};
use super::known;
use super::verbatim::{MARKS_MAX, is_mark};
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

/// Returns whether a character is invisible or changes the writing direction. Joiners are needed by some
/// scripts.
pub(super) const fn is_hidden(sign: char) -> bool {
    matches!(sign,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{e0000}'..='\u{10ffff}')
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

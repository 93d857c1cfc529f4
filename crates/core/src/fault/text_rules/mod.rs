//! Text rules: classify the output of a foreign program that failed.
//!
//! This is the one place where a code comes from text, and only from untyped output of a process that an
//! agent, a script or a validation ran. The rules see the selected diagnostic lines, never the whole output,
//! and never yield a code about Unstuck itself. Order: errors that a server or a cloud numbers or names;
//! findings of compilers, linters and test runners; structured facts; phrases. Where words alone decide, a
//! trained model may overrule them.

mod checks;
mod coded;
mod findings;
mod hit;
mod learned;
mod named;
mod phrases;
mod structured;
mod together;
mod vocabulary;

use super::table::Code;
use crate::signature::{self, Diagnosis, Line, Role, Signature};
use hit::Hit;
pub use named::{Named, named};

/// The rule for output that no other rule matches.
const UNKNOWN: &str = "unknown";

/// The rule for a git lock that another program names.
const GIT_LOCK: &str = "said.git-lock";

/// The rule for output without a diagnostic line.
const SILENT: &str = "silent";

/// The rule for a nested cause.
const NESTED: &str = "cause.nested";

/// The set of rules that apply to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// Output of a command: all rules.
    Everything,
    /// Output of a validation: only a tool's own diagnosis of its environment, since a test may well be about
    /// a rejected login or an outage.
    ValidationOutput,
}

/// The classification of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The code.
    pub code: Code,
    /// The rule that determined the code.
    pub rule: &'static str,
    /// The signature, without a place.
    pub signature: Signature,
    /// `true` if the output reports a failure at all. A command that exits with 1 and diagnoses nothing only
    /// answers "no".
    pub diagnostic: bool,
}

/// Classifies the output of a command that failed.
pub fn read(output: &[u8]) -> Reading {
    let plain = signature::plain(output);
    let diagnosis = Diagnosis::of(&plain);
    let Verdict { code, rule } = learned::weigh(&diagnosis, judge(&diagnosis));
    Reading {
        code,
        rule,
        signature: diagnosis.signature(code, "", None),
        diagnostic: diagnosis.tells_failure(),
    }
}

/// Returns the code and the rule alone, or `None` if no rule that applies matches.
pub fn classify(output: &[u8], applies: Applies) -> Option<(Code, &'static str)> {
    let plain = signature::plain(output);
    let diagnosis = Diagnosis::of(&plain);
    let verdict = match applies {
        Applies::Everything => Some(learned::weigh(&diagnosis, judge(&diagnosis))),
        Applies::ValidationOutput => checks::surroundings(&plain, &diagnosis),
    };
    verdict
        .filter(|verdict| verdict.rule != UNKNOWN && verdict.rule != SILENT)
        .map(|verdict| (verdict.code, verdict.rule))
}

/// Returns the static name of a rule read back from a record, or `retired` for a rule that no longer exists.
pub fn known(rule: &str) -> &'static str {
    [UNKNOWN, SILENT, GIT_LOCK, NESTED, learned::LEARNED]
        .into_iter()
        .chain(coded::RULES.iter().copied())
        .chain(findings::RULES.iter().copied())
        .chain(structured::RULES.iter().copied())
        .chain(phrases::rules())
        .find(|known| *known == rule)
        .unwrap_or("retired")
}

struct Verdict {
    code: Code,
    rule: &'static str,
}

fn judge(diagnosis: &Diagnosis<'_>) -> Verdict {
    let verdict = judge_lines(diagnosis);
    let found = verdict.rule.starts_with("finding.") || verdict.rule.starts_with("exception.");
    if found || is_cause(verdict.code) {
        return verdict;
    }
    nested(diagnosis).unwrap_or(verdict)
}

/// Returns whether a code is about more than the code under work and its settings.
const fn is_cause(code: Code) -> bool {
    !matches!(code, Code::LogicError | Code::ToolConfig)
}

fn judge_lines(diagnosis: &Diagnosis<'_>) -> Verdict {
    if diagnosis.is_silent() {
        return said_aside(diagnosis);
    }
    if let Some(verdict) = coded::find(diagnosis) {
        return verdict;
    }
    let mut best = Hit::NONE;
    structured::find(diagnosis, &mut best);
    if let Some(verdict) = findings::find(diagnosis, &best) {
        return verdict;
    }
    let own_code = findings::own_exception(diagnosis);
    if own_code.is_none() || best.is_none() {
        phrases::find(diagnosis, own_code.is_some(), &mut best);
        structured::of_registry(diagnosis, &mut best);
    }
    if own_code.is_none() {
        let said = |line: &Line<'_>| findings::tells_login(line.text);
        if best.is_wide() && diagnosis.lines().iter().any(said) {
            best.offer(Code::AuthMissing, findings::LOGIN_TOLD);
        }
        let installs = |line: &Line<'_>| findings::tells_install(line.text);
        if best.is_wide() && diagnosis.lines().iter().any(installs) {
            best.offer(Code::ToolMissing, findings::INSTALL_TOLD);
        }
        explain(diagnosis, &mut best);
        of_git(diagnosis, &mut best);
        if best.is(Code::EnvUnavailable) {
            structured::of_registry(&diagnosis.remaining(), &mut best);
        }
    }
    if own_code.is_none() && !best.is_cause() && findings::points_at_setting(diagnosis.text()) {
        return Verdict { code: Code::ToolConfig, rule: findings::SETTINGS };
    }
    let open = best.is_loose() || best.is_missing_by_words();
    if own_code.is_none() && open && findings::asks_for_server(diagnosis) {
        return Verdict { code: Code::EnvConnection, rule: findings::ASKED };
    }
    if own_code.is_none()
        && best.is_loose()
        && diagnosis.lines().iter().any(findings::points_at_source)
        && findings::settings(diagnosis).is_none()
    {
        return Verdict { code: Code::LogicError, rule: findings::COMPILER };
    }
    if own_code.is_none()
        && best.is(Code::LogicError)
        && let Some(verdict) = findings::settings(diagnosis)
    {
        return verdict;
    }
    best.verdict()
        .or(own_code)
        .or_else(|| coded::told(diagnosis))
        .or_else(|| findings::refused(diagnosis))
        .or_else(|| aside_of(diagnosis).verdict())
        .or_else(|| findings::of_client(diagnosis))
        .or_else(|| findings::told(diagnosis))
        .or_else(|| findings::refused(&diagnosis.remaining()))
        .or_else(|| findings::of_program(diagnosis))
        .or_else(|| findings::unplaced(diagnosis))
        .unwrap_or(Verdict { code: Code::LogicError, rule: UNKNOWN })
}

/// Returns the verdict on the deepest nested cause, if that cause is outside the code and the settings: build
/// tools first print what they were about to do, and below it why it failed.
fn nested(diagnosis: &Diagnosis<'_>) -> Option<Verdict> {
    const MARKS: [&[u8]; 2] = [b"* What went wrong:", b"Caused by:"];
    let text = diagnosis.text();
    if !MARKS.iter().any(|mark| memchr::memmem::find(text, mark).is_some()) {
        return None;
    }
    let mut below = false;
    let mut deepest = None;
    for line in text.split(|b| *b == b'\n') {
        let said = line.trim_ascii();
        if said == b"* Try:" {
            break;
        }
        if let Some(cause) = said.strip_prefix(b"> ") {
            deepest = Some(cause);
        } else if below && line.starts_with(b"  ") {
            deepest = Some(said);
        }
        below = said == b"Caused by:";
    }
    let Verdict { code, rule } = judge_lines(&Diagnosis::of(deepest?));
    let known = ![UNKNOWN, SILENT, vocabulary::MISSING_TOOL].contains(&rule);
    (known && is_cause(code)).then_some(Verdict { code, rule: NESTED })
}

/// Judges lines that look like remarks, frames or echoes, for output that has no others.
fn said_aside(diagnosis: &Diagnosis<'_>) -> Verdict {
    let lines = diagnosis.unsorted();
    let mut best = Hit::NONE;
    structured::find(&lines, &mut best);
    phrases::find(&lines, false, &mut best);
    if best.is_none() && lines.lines().iter().any(|line| findings::tells_login(line.text)) {
        best.offer(Code::AuthMissing, findings::LOGIN_TOLD);
    }
    let said = best.verdict().or_else(|| findings::refused(&lines));
    said.unwrap_or(Verdict { code: Code::LogicError, rule: SILENT })
}

/// Offers a git lock if the lock file is inside a repository's own `.git` folder.
fn of_git(diagnosis: &Diagnosis<'_>, best: &mut Hit) {
    const FOLDER: &[u8] = b".git/";
    let is_lock = |at: usize| {
        let path = diagnosis.text()[at..].split(u8::is_ascii_whitespace).next();
        path.is_some_and(|path| memchr::memmem::find(path, b".lock").is_some())
    };
    if best.is_lock() && memchr::memmem::find_iter(diagnosis.text(), FOLDER).any(is_lock) {
        best.offer(Code::GitLocked, GIT_LOCK);
    }
}

/// Looks for the cause in the lines that were left aside and then in all lines, if the selected ones only
/// report that the command failed.
fn explain(diagnosis: &Diagnosis<'_>, best: &mut Hit) {
    if best.is_last() {
        let cause = aside_of(diagnosis);
        if cause.is_cause() {
            *best = cause;
            structured::of_registry(diagnosis, best);
        }
    }
    if best.is_vague() && !diagnosis.raises() {
        let remaining = diagnosis.remaining();
        let mut cause = Hit::NONE;
        structured::find(&remaining, &mut cause);
        let found = || checks::report_failure(diagnosis.text()) || findings::is_found(&remaining);
        if !cause.is_cause() && found() {
            best.offer(Code::LogicError, findings::COMPILER);
            return;
        }
        // A warning counts only if it reports an outage.
        let said = remaining.only(|line| line.role != Role::Warning);
        phrases::find(&said, false, &mut cause);
        if !cause.is_cause() {
            phrases::find(&remaining, false, &mut cause);
            if !cause.is_outage() {
                cause = Hit::NONE;
            }
        }
        structured::of_registry(&remaining, &mut cause);
        if cause.is_cause() {
            *best = cause;
        } else if best.is(Code::LogicError) && findings::names_settings(&remaining) {
            *best = Hit::NONE;
            best.offer(Code::ToolConfig, findings::SETTINGS_FILE);
        }
    }
}

/// Returns the best hit in the lines that were left aside because others reported the failure more plainly.
fn aside_of(diagnosis: &Diagnosis<'_>) -> Hit {
    let mut cause = Hit::NONE;
    // After the name of a task, the line reader takes a compiler's finding for prose.
    let finds = |line: &Line<'_>| memchr::memmem::find(line.text, b": error ").is_some();
    if let Some(aside) = diagnosis.aside().filter(|aside| !aside.lines().iter().any(finds)) {
        structured::find(&aside, &mut cause);
        phrases::find(&aside, false, &mut cause);
        structured::of_registry(&aside, &mut cause);
    }
    cause
}

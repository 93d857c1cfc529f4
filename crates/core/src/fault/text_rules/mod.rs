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

use crate::code::Code;
use crate::signature::{self, Diagnosis, LineRole, OutputLine, Signature};
pub use checks::{
    CheckStop, find_check_stop, find_missing_import, find_missing_of_script, is_failed_assertion,
};
use hit::RuleHit;
pub use named::{OutputNames, extract_names, find_expired_certificate, find_unreached_address};
pub(super) use vocabulary::HELD_ELSEWHERE;

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
pub enum RuleSet {
    /// Output of a command: all rules.
    Everything,
    /// Output of a validation: only a tool's own diagnosis of its environment, since a test may well be about
    /// a rejected login or an outage.
    ValidationOutput,
}

/// The classification of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputClassification {
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
pub fn classify_output(output: &[u8]) -> OutputClassification {
    let plain = signature::clean_output(output);
    let diagnosis = Diagnosis::from_plain_text(&plain);
    let RuleVerdict { code, rule } = learned::apply_model(&diagnosis, judge_diagnosis(&diagnosis));
    OutputClassification {
        code,
        rule,
        signature: diagnosis.compute_signature(code, "", None),
        diagnostic: diagnosis.reports_failure(),
    }
}

/// Classifies a command by its output and its exit code. The exit code counts only if the output does not say
/// why the command failed.
pub fn classify_ended(output: &[u8], status: i32) -> OutputClassification {
    let said = classify_output(output);
    let is_open = !is_cause(said.code) && !is_finding(said.rule);
    match structured::classify_own_exit(status).filter(|_| is_open) {
        Some(code) => OutputClassification { code, rule: structured::EXIT, ..said },
        None => said,
    }
}

/// Returns the code and the rule alone, or `None` if no rule that applies matches.
pub fn classify_with(output: &[u8], applies: RuleSet) -> Option<(Code, &'static str)> {
    let plain = signature::clean_output(output);
    let diagnosis = Diagnosis::from_plain_text(&plain);
    let verdict = match applies {
        RuleSet::Everything => Some(learned::apply_model(&diagnosis, judge_diagnosis(&diagnosis))),
        RuleSet::ValidationOutput => checks::judge_surroundings(&plain, &diagnosis),
    };
    verdict
        .filter(|verdict| verdict.rule != UNKNOWN && verdict.rule != SILENT)
        .map(|verdict| (verdict.code, verdict.rule))
}

/// Returns the static name of a rule read back from a record, or `retired` for a rule that no longer exists.
pub fn rule_name(rule: &str) -> &'static str {
    [UNKNOWN, SILENT, GIT_LOCK, NESTED, learned::LEARNED]
        .into_iter()
        .chain(coded::RULES.iter().copied())
        .chain(findings::RULES.iter().copied())
        .chain(structured::RULES.iter().copied())
        .chain(phrases::rule_ids())
        .find(|known| *known == rule)
        .unwrap_or("retired")
}

/// Returns whether a rule only guesses from the form of a sentence, or from its words alone, whose mistake it is.
pub(super) fn is_guess(rule: &str) -> bool {
    findings::GUESSES.contains(&rule) || rule == learned::LEARNED
}

struct RuleVerdict {
    code: Code,
    rule: &'static str,
}

fn judge_diagnosis(diagnosis: &Diagnosis<'_>) -> RuleVerdict {
    let verdict = judge_lines(diagnosis);
    if is_finding(verdict.rule) || is_cause(verdict.code) {
        return verdict;
    }
    judge_nested_cause(diagnosis).unwrap_or(verdict)
}

/// Returns whether a rule found the code under work itself: a finding of a compiler, an exception.
fn is_finding(rule: &str) -> bool {
    rule.starts_with("finding.") || rule.starts_with("exception.")
}

/// Returns whether a code is about more than the code under work and its settings.
const fn is_cause(code: Code) -> bool {
    !matches!(code, Code::LogicError | Code::ToolConfig)
}

fn judge_lines(diagnosis: &Diagnosis<'_>) -> RuleVerdict {
    if diagnosis.is_silent() {
        return judge_remarks(diagnosis);
    }
    if let Some(verdict) = coded::find_verdict(diagnosis) {
        return verdict;
    }
    let mut best = RuleHit::NONE;
    structured::offer_facts(diagnosis, &mut best);
    if let Some(verdict) = findings::find_verdict(diagnosis, &best) {
        return verdict;
    }
    let own_code = findings::judge_own_exception(diagnosis);
    if own_code.is_none() || best.is_none() {
        phrases::offer_phrases(diagnosis, own_code.is_some(), &mut best);
        structured::reclassify_registry(diagnosis, &mut best);
    }
    if own_code.is_none() {
        let said = |line: &OutputLine<'_>| findings::tells_login(line.text);
        if best.is_wide() && diagnosis.lines().iter().any(said) {
            best.offer(Code::AuthMissing, findings::LOGIN_TOLD);
        }
        let installs = |line: &OutputLine<'_>| findings::tells_install(line.text);
        if best.is_wide() && diagnosis.lines().iter().any(installs) {
            best.offer(Code::ToolMissing, findings::INSTALL_TOLD);
        }
        explain_failure(diagnosis, &mut best);
        offer_git_lock(diagnosis, &mut best);
        if best.has_code(Code::EnvUnavailable) {
            structured::reclassify_registry(&diagnosis.without_remarks(), &mut best);
        }
    }
    if own_code.is_none() && !best.is_cause() && findings::points_at_setting(diagnosis.text()) {
        return RuleVerdict { code: Code::ToolConfig, rule: findings::SETTINGS };
    }
    let open = best.is_loose() || best.is_missing_by_words();
    if own_code.is_none() && open && findings::asks_for_server(diagnosis) {
        return RuleVerdict { code: Code::EnvConnection, rule: findings::ASKED };
    }
    if own_code.is_none()
        && best.is_loose()
        && diagnosis.lines().iter().any(findings::points_at_source)
        && findings::judge_settings(diagnosis).is_none()
    {
        return RuleVerdict { code: Code::LogicError, rule: findings::COMPILER };
    }
    if own_code.is_none()
        && best.has_code(Code::LogicError)
        && let Some(verdict) = findings::judge_settings(diagnosis)
    {
        return verdict;
    }
    best.to_verdict()
        .or(own_code)
        .or_else(|| coded::find_reply_verdict(diagnosis))
        .or_else(|| findings::judge_refusal(diagnosis))
        .or_else(|| find_aside_hit(diagnosis).to_verdict())
        .or_else(|| findings::judge_client(diagnosis))
        .or_else(|| findings::judge_told(diagnosis))
        .or_else(|| findings::judge_refusal(&diagnosis.without_remarks()))
        .or_else(|| findings::judge_program(diagnosis))
        .or_else(|| findings::judge_unplaced(diagnosis))
        .unwrap_or(RuleVerdict { code: Code::LogicError, rule: UNKNOWN })
}

/// Returns the verdict on the deepest nested cause, if that cause is outside the code and the settings: build
/// tools first print what they were about to do, and below it why it failed.
fn judge_nested_cause(diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
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
    let RuleVerdict { code, rule } = judge_lines(&Diagnosis::from_plain_text(deepest?));
    let known = ![UNKNOWN, SILENT, vocabulary::MISSING_TOOL].contains(&rule);
    (known && is_cause(code)).then_some(RuleVerdict { code, rule: NESTED })
}

/// Judges lines that look like remarks, frames or echoes, for output that has no others.
fn judge_remarks(diagnosis: &Diagnosis<'_>) -> RuleVerdict {
    let lines = diagnosis.with_last_lines();
    let mut best = RuleHit::NONE;
    structured::offer_facts(&lines, &mut best);
    phrases::offer_phrases(&lines, false, &mut best);
    if best.is_none() && lines.lines().iter().any(|line| findings::tells_login(line.text)) {
        best.offer(Code::AuthMissing, findings::LOGIN_TOLD);
    }
    let said = best.to_verdict().or_else(|| findings::judge_refusal(&lines));
    said.unwrap_or(RuleVerdict { code: Code::LogicError, rule: SILENT })
}

/// Offers a git lock if the lock file is inside a repository's own `.git` folder.
fn offer_git_lock(diagnosis: &Diagnosis<'_>, best: &mut RuleHit) {
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
fn explain_failure(diagnosis: &Diagnosis<'_>, best: &mut RuleHit) {
    if best.is_last() {
        let cause = find_aside_hit(diagnosis);
        if cause.is_cause() {
            *best = cause;
            structured::reclassify_registry(diagnosis, best);
        }
    }
    if best.is_vague() && !diagnosis.is_raised_in_code() {
        let remaining = diagnosis.without_remarks();
        let mut cause = RuleHit::NONE;
        structured::offer_facts(&remaining, &mut cause);
        let found = || checks::reports_failure(diagnosis.text()) || findings::is_found(&remaining);
        if !cause.is_cause() && found() {
            best.offer(Code::LogicError, findings::COMPILER);
            return;
        }
        // A warning counts only if it reports an outage.
        let said = remaining.filter_lines(|line| line.role != LineRole::Warning);
        phrases::offer_phrases(&said, false, &mut cause);
        if !cause.is_cause() {
            phrases::offer_phrases(&remaining, false, &mut cause);
            if !cause.is_outage() {
                cause = RuleHit::NONE;
            }
        }
        structured::reclassify_registry(&remaining, &mut cause);
        if cause.is_cause() {
            *best = cause;
        } else if best.has_code(Code::LogicError) && findings::names_settings(&remaining) {
            *best = RuleHit::NONE;
            best.offer(Code::ToolConfig, findings::SETTINGS_FILE);
        }
    }
}

/// Returns the best hit in the lines that were left aside because others reported the failure more plainly.
fn find_aside_hit(diagnosis: &Diagnosis<'_>) -> RuleHit {
    let mut cause = RuleHit::NONE;
    // After the name of a task, the line reader takes a compiler's finding for prose.
    let finds = |line: &OutputLine<'_>| memchr::memmem::find(line.text, b": error ").is_some();
    if let Some(aside) =
        diagnosis.aside_diagnosis().filter(|aside| !aside.lines().iter().any(finds))
    {
        structured::offer_facts(&aside, &mut cause);
        phrases::offer_phrases(&aside, false, &mut cause);
        structured::reclassify_registry(&aside, &mut cause);
    }
    cause
}

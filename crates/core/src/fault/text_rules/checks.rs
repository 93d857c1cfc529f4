//! Output of a check: separates failures of the change from failures of the environment.
//!
//! A test may expect any status, limit or refusal, may be named after one, and may log one. So a check is red
//! unless a tool says in its own diagnosis what it could not reach, fetch or write.

use super::{RuleVerdict, judge_diagnosis};
use crate::fault::code::Class;
use crate::fault::table::Code;
use crate::signature::{Diagnosis, Fact, LineRole, OutputLine};

mod runners;
mod words;

pub(super) use runners::reports_failure;
pub(super) use words::is_client_line as names_client;

/// Returns the verdict on the environment, if the output of a check has one.
pub(super) fn judge_surroundings(plain: &[u8], diagnosis: &Diagnosis<'_>) -> Option<RuleVerdict> {
    let about = |verdict: &RuleVerdict| verdict.code.row().class == Class::EnvError;
    if !about(&judge_diagnosis(diagnosis)) || reports_failure(plain) {
        return None;
    }
    let own = diagnosis.filter_lines(|line| !words::compares_values(line.text) && !is_result(line));
    let verdict = judge_diagnosis(&own);
    let told = || {
        is_reported_by_tool(&own, verdict.code)
            || own.aside_diagnosis().is_some_and(|a| is_reported_by_tool(&a, verdict.code))
    };
    (about(&verdict) && told()).then_some(verdict)
}

/// Returns whether a line is the result of a step in the words of the check: `FAILED: the limit is reached`.
fn is_result(line: &OutputLine<'_>) -> bool {
    const RESULTS: &[&[u8]] = &[b"FAIL", b"[FAIL", b"Failed:", b"failed:", b"Failure:", b"not ok"];
    line.role != LineRole::Finding && RESULTS.iter().any(|result| line.text.starts_with(result))
}

/// Returns whether a tool reports it, as far as the code requires one.
fn is_reported_by_tool(own: &Diagnosis<'_>, code: Code) -> bool {
    let lines = own.lines();
    match code {
        // The system's message about a full disk is the same from every program.
        Code::EnvDiskFull => lines.iter().any(is_labelled),
        // A program under test crashes because of the change; a compiler does not.
        Code::ToolCrash => lines.iter().any(|line| words::reports_compiler_death(line.text)),
        // A server on this machine may be the one under test.
        Code::EnvUnavailable | Code::ToolRateLimit => lines
            .iter()
            .any(|line| is_client_diagnosis(line) && !words::names_this_machine(line.text)),
        _ => lines.iter().any(is_client_diagnosis) || own.facts().iter().any(is_refusal),
    }
}

/// Returns whether a line is more than prose: it is marked as a failure.
const fn is_labelled(line: &OutputLine<'_>) -> bool {
    matches!(line.role, LineRole::Said | LineRole::Finding | LineRole::Exception)
}

/// Returns whether a line is the diagnosis of a client, a registry or a compiler: it begins with the name of
/// one, or says what was to be reached or fetched.
fn is_client_diagnosis(line: &OutputLine<'_>) -> bool {
    words::is_client_line(line.text)
        || words::names_address(line.text)
        || (line.role != LineRole::Exception && words::mentions_download(line.text))
}

/// Returns whether the fact is an error number or name of the system, or a client's exception. A test that
/// asserts one is recognized by its runner's report.
fn is_refusal(fact: &Fact<'_>) -> bool {
    match fact {
        Fact::Errno(_) => true,
        Fact::Name(name) => {
            name.starts_with(b"EAI_") || (name.starts_with(b"E") && !name.contains(&b'_'))
        }
        Fact::Class(class) => words::is_client_class(class),
        _ => false,
    }
}

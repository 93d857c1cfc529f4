//! Output of a check: separates failures of the change from failures of the environment.
//!
//! A test may expect any status, limit or refusal, may be named after one, and may log one. So a check is red
//! unless a tool says in its own diagnosis what it could not reach, fetch or write.

use super::{Verdict, judge};
use crate::fault::code::Class;
use crate::fault::table::Code;
use crate::signature::{Diagnosis, Fact, Line, Role};

mod runners;
mod words;

pub(super) use runners::report_failure;
pub(super) use words::client as names_client;

/// Returns the verdict on the environment, if the output of a check has one.
pub(super) fn surroundings(plain: &[u8], diagnosis: &Diagnosis<'_>) -> Option<Verdict> {
    let about = |verdict: &Verdict| verdict.code.row().class == Class::EnvError;
    if !about(&judge(diagnosis)) || report_failure(plain) {
        return None;
    }
    let own = diagnosis.only(|line| !words::compare(line.text) && !is_result(line));
    let verdict = judge(&own);
    let told =
        || is_told(&own, verdict.code) || own.aside().is_some_and(|a| is_told(&a, verdict.code));
    (about(&verdict) && told()).then_some(verdict)
}

/// Returns whether a line is the result of a step in the words of the check: `FAILED: the limit is reached`.
fn is_result(line: &Line<'_>) -> bool {
    const RESULTS: &[&[u8]] = &[b"FAIL", b"[FAIL", b"Failed:", b"failed:", b"Failure:", b"not ok"];
    line.role != Role::Finding && RESULTS.iter().any(|result| line.text.starts_with(result))
}

/// Returns whether a tool reports it, as far as the code requires one.
fn is_told(own: &Diagnosis<'_>, code: Code) -> bool {
    let lines = own.lines();
    match code {
        // The system's message about a full disk is the same from every program.
        Code::EnvDiskFull => lines.iter().any(is_labelled),
        // A program under test crashes because of the change; a compiler does not.
        Code::ToolCrash => lines.iter().any(|line| words::tell_compiler_death(line.text)),
        // A server on this machine may be the one under test.
        Code::EnvUnavailable | Code::ToolRateLimit => {
            lines.iter().any(|line| tells(line) && !words::is_here(line.text))
        }
        _ => lines.iter().any(tells) || own.facts().iter().any(is_refusal),
    }
}

/// Returns whether a line is more than prose: it is marked as a failure.
const fn is_labelled(line: &Line<'_>) -> bool {
    matches!(line.role, Role::Said | Role::Finding | Role::Exception)
}

/// Returns whether a line is the diagnosis of a client, a registry or a compiler: it begins with the name of
/// one, or says what was to be reached or fetched.
fn tells(line: &Line<'_>) -> bool {
    words::client(line.text)
        || words::address(line.text)
        || (line.role != Role::Exception && words::fetch(line.text))
}

/// Returns whether the fact is an error number or name of the system, or a client's exception. A test that
/// asserts one is recognized by its runner's report.
fn is_refusal(fact: &Fact<'_>) -> bool {
    match fact {
        Fact::Errno(_) => true,
        Fact::Name(name) => {
            name.starts_with(b"EAI_") || (name.starts_with(b"E") && !name.contains(&b'_'))
        }
        Fact::Class(class) => words::is_of_client(class),
        _ => false,
    }
}

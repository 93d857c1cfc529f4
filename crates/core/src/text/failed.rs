//! The result of an attempt, for each code, as a plain clause.

use super::verbatim::{VALUE_CHARS_MAX, quote_words};
use crate::fault::{Code, Fault};

/// The prefix of the sources of faults of a repository's own hooks.
const HOOKS: &str = "hook:";

/// Returns the result of an attempt, with the step that timed out if known. Fits after "because".
pub fn failure_phrase_with_step(fault: &Fault) -> String {
    let failed = failure_phrase(fault.code(), false);
    match slow_step(fault).and_then(|step| quote_words(&step, VALUE_CHARS_MAX)) {
        Some(step) => format!("{failed} ({step})"),
        None => failed.to_owned(),
    }
}

/// Returns the step of a fault that timed out, and its limit: `the hook pre-commit took longer than 3s`.
pub fn slow_step(fault: &Fault) -> Option<String> {
    let step = fault.message.lines().next()?;
    let hook = if fault.source.starts_with(HOOKS) { "the hook " } else { "" };
    (fault.code() == Code::OperationTimeout).then(|| format!("{hook}{step}"))
}

/// Returns the result of an attempt: `a check failed`, or `the same check failed` if it did so `again`. Fits
/// after "and" and after "because".
pub const fn failure_phrase(code: Code, again: bool) -> &'static str {
    match code {
        Code::ProviderCrash => "the AI helper stopped in the middle",
        Code::ProviderApiError => "the AI service had trouble on its side",
        Code::ProviderRateLimit => "the AI service asked me to slow down",
        Code::ProviderOverloaded => "the AI service was too busy",
        Code::ProviderUsageLimit => "the plan was used up for the time being",
        Code::ProviderContextTooLong => "the work grew too long to keep in mind",
        Code::ProviderOutputLimit => "the answer was cut off because it was too long",
        Code::ProviderRefused => "the AI helper would not do it as asked",
        Code::ProviderRejected => "the AI service did not accept the way I called it",
        Code::ProviderNotAvailable => "the AI helper was not set up here",
        Code::ProviderQuota => "the account had no credit left",
        Code::IterationTimeout => "the round took too long",
        Code::OperationTimeout => "one step took too long",
        Code::ValidationPreCommit | Code::ValidationPrePush | Code::ValidationPrePr if again => {
            "the same check failed"
        }
        Code::ValidationPreCommit => "a check failed",
        Code::ValidationPrePush => "a check failed before the work was shared",
        Code::ValidationPrePr => "a check failed before the review",
        Code::ValidationRedBase => "a check fails as it did before the work began",
        Code::ScopeForbidden if again => "it changed files that are off limits again",
        Code::ScopeForbidden => "it changed files that are off limits",
        Code::ScopeOutsideAllowed if again => "it changed files outside its part again",
        Code::ScopeOutsideAllowed => "it changed files outside its part",
        Code::ScopeUserDenied => "you did not allow the change",
        Code::ConfigInvalid => "a setting had a value that cannot work",
        Code::ConfigMissing => "the file with the settings was not there",
        Code::ConfigEnvVarMissing => "a value that the settings need was not set",
        Code::ConfigParseError => "a file with settings or tasks could not be read",
        Code::GitStatusFailed => "I could not see what had changed",
        Code::GitCommitFailed => "the work could not be saved into the project",
        Code::GitPushFailed => "the work could not be pushed",
        Code::GitLocked => "another program was holding on to the project",
        Code::GitConflict => "it clashed with other work on the same lines",
        Code::GitRevertFailed => "a change could not be taken back",
        Code::PermissionSkipDenied => "the AI helper may not work without asking first",
        Code::PermissionCommandBlocked => "it needed a step that is not allowed",
        Code::PermissionFileAccess => "it touched something that needs your yes",
        Code::AuthInvalid => "the account refused the key",
        Code::ToolAccessDenied => "a command was denied access",
        Code::AuthExpired => "the login had run out",
        Code::AuthMissing => "there was no key to log in with",
        Code::NetworkUnreachable | Code::EnvConnection => "a service could not be reached",
        Code::NetworkTimeout | Code::EnvTimeout => "a service did not answer in time",
        Code::NetworkUnavailable | Code::EnvUnavailable => "a service was down",
        Code::NetworkRateLimit | Code::ToolRateLimit => "a service asked me to slow down",
        Code::EnvDns => "a service could not be found",
        Code::EnvRegistry => "the service that hands out ready-made parts was down",
        Code::EnvDiskFull => "the disk was full",
        Code::ToolCrash => "a program it needs broke down",
        Code::ToolQuota => "an account had reached its limit",
        Code::ToolMissing => "a program it needs was not installed",
        Code::ToolConfig => "a program it needs did not accept its settings",
        Code::PreconditionMissing => "something it needs was not there",
        Code::BudgetExhausted => "the budget had no room for the next step",
        Code::PreconditionInput => "it needed a word from you",
        Code::LogicError if again => "the same error came back",
        Code::LogicError => "it ended in an error",
        Code::LogicBadInput => "a step got something it could not work with",
        Code::LogicPhaseViolation => "a step came at a time when it is not allowed",
        Code::LogicLimit => "it used up all its steps",
        Code::LogicNoProgress => "it went in circles",
        Code::LogicRepeatedApproach => "it was the same way as one that had failed",
        Code::InternalError | Code::InternalStore => "something inside Unstuck went wrong",
    }
}

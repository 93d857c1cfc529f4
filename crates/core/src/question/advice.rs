//! The choice that is recommended for a kind of question and a code, and why.

use std::borrow::Cow;

use super::{Asked, Decision, QuestionKind, Reason};
use crate::fault::{BudgetSpan, Code, Work};

/// The recommended choice and the words for it. `account` is what may be named, if anything.
pub(super) fn advice(asked: &Asked<'_>, account: Option<&str>) -> (Decision, Cow<'static, str>) {
    if asked.kind == QuestionKind::Hands
        && asked.reason != Reason::RepairProposed
        && let Some(account) = account
        && let Some(said) = at_account(asked.code, account)
    {
        return (Decision::ProvideCredentials, Cow::Owned(said));
    }
    let (decision, said) = general(asked);
    (decision, Cow::Borrowed(said))
}

/// What a person's hands can do where it is known whose login or right it is about.
fn at_account(code: Option<Code>, account: &str) -> Option<String> {
    let what = match code? {
        Code::AuthInvalid => format!("put in a key or password that {account} takes"),
        Code::AuthExpired => format!("log in to {account} again"),
        Code::AuthMissing => format!("add the key or password for {account}"),
        Code::ToolAccessDenied => format!("give this account the right to do it at {account}"),
        Code::ToolQuota => format!("change the plan at {account} or wait for the limit to clear"),
        _ => return None,
    };
    Some(format!("Please {what}, then tell me to try again."))
}

fn general(asked: &Asked<'_>) -> (Decision, &'static str) {
    let Asked { kind, code, reason, work, .. } = *asked;
    match kind {
        QuestionKind::Hands if reason == Reason::RepairProposed => (
            Decision::ProvideCredentials,
            "Please look at the repair and take it over if you like it. Then tell me to try again.",
        ),
        QuestionKind::Hands if work == Work::Job && code == Some(Code::PreconditionMissing) => (
            Decision::ProvideCredentials,
            "Please create what is missing or tell the job where it is, then tell me to try again.",
        ),
        QuestionKind::Hands => (Decision::ProvideCredentials, hands(code)),
        QuestionKind::Ok => ok(code),
        QuestionKind::Choice => choice(code, reason),
        QuestionKind::Happened => (
            Decision::ItHappened,
            "Please look for yourself first, at the place where it would show. If you cannot tell, \
             this choice at least makes sure that nothing is done twice.",
        ),
        QuestionKind::Ours => (
            Decision::TryAgain,
            "Try again once. If it comes back, leave it out and show support the details.",
        ),
        QuestionKind::Paused => paused(reason),
        QuestionKind::Passing => match reason {
            Reason::KeepsFailing { .. } => (
                Decision::TryAgain,
                "Please see if the service is up. If it is, try again now; if not, I go on trying \
                 by myself.",
            ),
            _ => (
                Decision::TryAgain,
                "Please see why it was ended, such as too little memory. Then try again.",
            ),
        },
    }
}

/// What a person's hands can do about it.
const fn hands(code: Option<Code>) -> &'static str {
    let Some(code) = code else {
        return "Please put right what is in the way, then tell me to try again.";
    };
    match code {
        Code::AuthInvalid => {
            "Please put in a key or password that works, then tell me to try again."
        }
        Code::AuthExpired => "Please log in again, then tell me to try again.",
        Code::AuthMissing => "Please add the key or password, then tell me to try again.",
        Code::ProviderRejected => {
            "Please check which AI service and model are set, then tell me to try again."
        }
        Code::ProviderNotAvailable => {
            "Please install the AI helper or pick a model that exists, then tell me to try again."
        }
        Code::ProviderQuota => {
            "Please add credit or raise the spending cap, then tell me to try again."
        }
        Code::GitStatusFailed => {
            "Please see if the project folder opens and is whole, then tell me to try again."
        }
        Code::GitCommitFailed => {
            "Please see why the project does not take new work, then tell me to try again. My copy \
             of the work is safe."
        }
        Code::EnvDiskFull => "Please make some room on the disk, then tell me to try again.",
        Code::ToolAccessDenied => {
            "Please give this account the right to do it, then tell me to try again."
        }
        Code::ToolQuota => {
            "Please change the plan or wait for the limit to clear, then tell me to try again."
        }
        Code::PreconditionMissing => {
            "Please create what is missing or tell the task where it is, then tell me to try again."
        }
        _ => "Please put right what is in the way, then tell me to try again.",
    }
}

fn ok(code: Option<Code>) -> (Decision, &'static str) {
    match code {
        Some(Code::PermissionSkipDenied) => (
            Decision::Deny,
            "Better not: it would let the AI helper do anything here without a check.",
        ),
        Some(Code::PermissionFileAccess) => (
            Decision::AllowOnce,
            "Have a look at the change. If it is what you want, allow it this once.",
        ),
        _ => {
            (Decision::AllowOnce, "If you expected this step, allow it this once. If not, say no.")
        }
    }
}

fn choice(code: Option<Code>, reason: Reason) -> (Decision, &'static str) {
    if reason == Reason::TooManyDifferentErrors {
        return (
            Decision::SimplerVersion,
            "The task may be too big in one piece. A simpler version has a better chance.",
        );
    }
    let Some(code) = code else {
        return (Decision::ProvideGuidance, HINT);
    };
    match code {
        Code::PreconditionInput => {
            (Decision::ProvideGuidance, "A short answer is all it takes. I go on with your words.")
        }
        Code::ProviderContextTooLong | Code::ProviderOutputLimit | Code::LogicLimit => (
            Decision::SimplerVersion,
            "The task is too big in one piece. A simpler version has a better chance.",
        ),
        Code::ProviderRefused => (
            Decision::ProvideGuidance,
            "Say it in other words, and say why it is fine to do. I try again with that.",
        ),
        Code::ProviderRateLimit
        | Code::ProviderOverloaded
        | Code::ProviderUsageLimit
        | Code::ProviderApiError
        | Code::ProviderCrash => (
            Decision::ProvideGuidance,
            "This may well pass by itself. Write “keep trying”, or name another AI service to use.",
        ),
        Code::IterationTimeout | Code::OperationTimeout | Code::EnvTimeout => (
            Decision::ProvideGuidance,
            "Tell me if this step needs more time, or which part of it I can leave aside.",
        ),
        Code::ScopeForbidden | Code::ScopeOutsideAllowed => (
            Decision::ProvideGuidance,
            "Tell me how to do it without those files, or let the task touch them.",
        ),
        Code::GitConflict => {
            (Decision::ProvideGuidance, "Tell me which of the two changes should win.")
        }
        Code::GitLocked => (
            Decision::ProvideGuidance,
            "Please close other programs that use the project. Then write “keep trying”.",
        ),
        Code::NetworkUnreachable
        | Code::NetworkTimeout
        | Code::NetworkUnavailable
        | Code::NetworkRateLimit
        | Code::EnvConnection
        | Code::EnvDns
        | Code::EnvUnavailable
        | Code::EnvRegistry
        | Code::ToolRateLimit => (
            Decision::ProvideGuidance,
            "Please see if the service is up. Then write “keep trying”, or tell me what to use in \
             its place.",
        ),
        Code::ToolMissing => (
            Decision::ProvideGuidance,
            "Install the program and say so, or tell me what to use in its place.",
        ),
        Code::ToolConfig => {
            (Decision::ProvideGuidance, "Tell me how the program should be set up here.")
        }
        Code::ToolCrash => {
            (Decision::ProvideGuidance, "Tell me what to use in place of the program that breaks.")
        }
        Code::ValidationPreCommit | Code::ValidationPrePush | Code::ValidationPrePr => (
            Decision::ProvideGuidance,
            "Tell me what the check is there for, or which part of the work matters most.",
        ),
        _ => (Decision::ProvideGuidance, HINT),
    }
}

const HINT: &str = "A hint helps most: what you would try next, or what I have got wrong.";

const fn paused(reason: Reason) -> (Decision, &'static str) {
    match reason {
        Reason::TooManyQuestions { .. } => (
            Decision::Continue,
            "Please answer some of the open questions first. When few enough are left, I go on by \
             myself.",
        ),
        Reason::BudgetSpent { span: BudgetSpan::Task } => (
            Decision::Continue,
            "If the task is still worth it, let me go on. You stay in charge of each new amount.",
        ),
        Reason::BudgetSpent { .. } => (
            Decision::Continue,
            "If what is left is still worth it, let me go on. You stay in charge of each new amount.",
        ),
        _ => (Decision::Continue, "If nothing speaks against it, let me go on."),
    }
}

//! The recommended option for a kind of question and a code, with its reason.

use super::{Decision, QuestionFacts, QuestionKind, Reason, Risk};
use crate::fault::{BudgetSpan, Code, Work};
use crate::text::{SpecificCause, VALUE_CHARS_MAX, name_in_sentence, quote_words};

/// Returns the recommended option and its words. A fact is not recommended, nor is one of the agent's own
/// options.
pub(super) fn recommend_option(asked: &QuestionFacts<'_>) -> (Option<Decision>, String) {
    match asked.kind {
        QuestionKind::Happened => (None, look_first(asked)),
        QuestionKind::Choice if !asked.agent_options.is_empty() => {
            (None, "Choose what the AI helper offers, or answer in your own words.".to_owned())
        }
        QuestionKind::Ok if asked.is_about_edits() => {
            let (decision, said) = general_advice(asked);
            (Some(decision), with_change_command(said, asked.whole_change))
        }
        QuestionKind::Hands if asked.reason != Reason::RepairProposed => {
            (Some(Decision::ProvideCredentials), manual_advice(asked))
        }
        _ => {
            let (decision, said) = general_advice(asked);
            (Some(decision), said.to_owned())
        }
    }
}

/// Prefixes the advice with the command that shows the change.
fn with_change_command(said: &str, whole: Option<&str>) -> String {
    match whole.and_then(|whole| quote_words(whole, VALUE_CHARS_MAX)) {
        Some(whole) => format!("To see the change, run {whole}. {said}"),
        None => said.to_owned(),
    }
}

/// Returns what to look at before a person says whether an action happened.
fn look_first(asked: &QuestionFacts<'_>) -> String {
    let place = asked.look_at.and_then(|place| quote_words(place, VALUE_CHARS_MAX));
    match place {
        Some(place) => format!(
            "Please look first whether it happened, for example at {place}. Then choose what you saw."
        ),
        None => "Please look first where the result would be visible. Then choose what you saw."
            .to_owned(),
    }
}

/// Returns what a person can do by hand, naming what is missing if known.
fn manual_advice(asked: &QuestionFacts<'_>) -> String {
    if let Some(what) = credential_advice(asked) {
        return format!("Please {what}, then tell me to try again.");
    }
    if asked.cause == Some(SpecificCause::UnverifiedHost) {
        return "Please find out whether the server was set up anew. If it was, correct its entry in \
                “~/.ssh/known_hosts”; if not, somebody may have taken its place. Then tell me to try \
                again."
            .to_owned();
    }
    let account = asked.account.and_then(name_in_sentence);
    if let (Some(account), Some(code)) = (account, asked.code)
        && let Some(what) = account_advice(code, &account)
    {
        return format!("Please {what}, then tell me to try again.");
    }
    if asked.expired_certificate.is_some() {
        return "Please have the certificate renewed, or check the clock of this machine. Then tell \
                me to try again."
            .to_owned();
    }
    if asked.model.is_some() {
        return "Please name a model that exists in “agent.model” of the settings or in the task, then \
                tell me to try again. A model from “--model” cannot be changed for this build: cancel it \
                with “unstuck cancel”, and run it again."
            .to_owned();
    }
    if asked.setup_ended.is_some() {
        return "Please fix what the command needs, or change “run.setup” in the settings. Then \
                tell me to try again."
            .to_owned();
    }
    if asked.check_ended.is_some() {
        return "Please look in its output for what it waits for, or give it more time with \
                “validate.timeout” in the settings. Then tell me to try again."
            .to_owned();
    }
    if asked.kept.is_some() && asked.what.is_none() {
        return "Please let the command write inside the project, or where “TMPDIR” points. Then tell \
                me to try again."
            .to_owned();
    }
    if asked.kept.is_some() {
        return "If that is fine with you, please add this line to the settings. Then tell me to try \
                again."
            .to_owned();
    }
    if asked.broken.is_some() {
        return "Please correct it, then tell me to try again.".to_owned();
    }
    if asked.work == Work::Job && asked.code == Some(Code::PreconditionMissing) {
        return "Please create what is missing or tell the job where it is, then tell me to try \
                again."
            .to_owned();
    }
    hands_advice(asked.code).to_owned()
}

/// Returns how to provide a credential: the login to run, the variable to set.
fn credential_advice(asked: &QuestionFacts<'_>) -> Option<String> {
    let worth = match asked.code? {
        Code::AuthInvalid => "a key that is accepted",
        Code::AuthExpired => "a new key",
        Code::AuthMissing => "the key",
        _ => return None,
    };
    let in_quotes =
        |words: Option<&str>| words.and_then(|words| quote_words(words, VALUE_CHARS_MAX));
    match (in_quotes(asked.login), in_quotes(asked.variable)) {
        (Some(login), Some(variable)) => Some(format!(
            "run {login} in a terminal, or set {variable} to {worth} before the start"
        )),
        (Some(login), None) => Some(format!("run {login} in a terminal")),
        (None, Some(variable)) => {
            Some(format!("set {variable} to {worth} where Unstuck is started"))
        }
        (None, None) => None,
    }
}

/// Returns what a person can do by hand if the account of the login or permission is known.
fn account_advice(code: Code, account: &str) -> Option<String> {
    Some(match code {
        Code::AuthInvalid => format!("provide a key or password that {account} accepts"),
        Code::AuthExpired => format!("log in to {account} again"),
        Code::AuthMissing => format!("add the key or password for {account}"),
        Code::ToolAccessDenied => format!("give this account the permission for it at {account}"),
        Code::ToolQuota => {
            format!("add credit or change the plan at {account}, or wait for the limit to clear")
        }
        _ => return None,
    })
}

fn general_advice(asked: &QuestionFacts<'_>) -> (Decision, &'static str) {
    let QuestionFacts { kind, code, reason, .. } = *asked;
    match kind {
        QuestionKind::Hands => (
            Decision::ProvideCredentials,
            "Please look at the repair and merge it if it is right. Then tell me to try again.",
        ),
        QuestionKind::Ok if asked.is_expected => (
            Decision::AllowOnce,
            "The task asks to remove something, so some tests may go with it. If the change looks \
             right, allow it this once.",
        ),
        QuestionKind::Ok => permission_advice(code, asked.risk, asked.what.is_some()),
        QuestionKind::Choice if asked.cause == Some(SpecificCause::MisplacedWork) => {
            (Decision::ProvideGuidance, "Say in a hint where the result belongs.")
        }
        QuestionKind::Choice | QuestionKind::Passing
            if asked.cause == Some(SpecificCause::HeldLock) =>
        {
            (
                Decision::TryAgain,
                "Please look in its output for who holds the lock. When it is released, let me try \
                 again.",
            )
        }
        QuestionKind::Choice if asked.is_passing() => transient_advice(code, asked.work),
        QuestionKind::Choice
            if asked.rejected_push
                && matches!(reason, Reason::RepairBudgetExhausted { repairs: 0 }) =>
        {
            (Decision::TryAgain, "Please get the commits of the remote, then let me run it again.")
        }
        QuestionKind::Choice if asked.work == Work::Job => script_advice(code, reason),
        QuestionKind::Choice | QuestionKind::Happened => choice_advice(code, reason),
        QuestionKind::Ours => (
            Decision::TryAgain,
            "Try again once. If it fails again, leave it out and show support the details.",
        ),
        QuestionKind::Paused => paused_advice(reason),
        QuestionKind::RedBase => (
            Decision::Belongs,
            "If you cannot tell, this choice is safe: nothing lands while a check fails.",
        ),
        QuestionKind::Passing => match reason {
            Reason::KeepsFailing { .. } => (
                Decision::TryAgain,
                "Please check whether the service is up. If it is, let me try again now. If not, \
                 the job runs again by itself when it is due.",
            ),
            _ => (
                Decision::TryAgain,
                "Please find out why it was ended, for example by too little memory. Then let me \
                 try again.",
            ),
        },
    }
}

/// Returns the advice for a failure that may well be transient.
const fn transient_advice(code: Option<Code>, work: Work) -> (Decision, &'static str) {
    let said = match code {
        Some(
            Code::ProviderRateLimit
            | Code::ProviderOverloaded
            | Code::ProviderUsageLimit
            | Code::ProviderApiError
            | Code::ProviderCrash,
        ) => "This may pass by itself. Let me try again, or name another AI service to use.",
        Some(Code::OperationTimeout) if matches!(work, Work::Job) => {
            "Let me run it again. If it needs more time, first raise its limit: “--timeout” of the \
             command, or “timeout” of the job in the settings."
        }
        Some(Code::IterationTimeout) => {
            "Let me try again. If the work needs more time, first raise “run.attempt” in the settings."
        }
        Some(Code::OperationTimeout) => {
            "Let me try again. If the step needs more time, first raise its limit in the settings."
        }
        Some(Code::GitLocked) => {
            "Please close other programs that use the project, then let me try again."
        }
        Some(Code::ToolCrash) => "Let me try again, or tell me what to use in its place.",
        _ => "Please check whether the service is up, then let me try again.",
    };
    (Decision::TryAgain, said)
}

/// Returns the advice for a script that fails.
const fn script_advice(code: Option<Code>, reason: Reason) -> (Decision, &'static str) {
    match (code, reason) {
        (Some(Code::ToolMissing), Reason::RepairBudgetExhausted { repairs: 0 }) => (
            Decision::TryAgain,
            "Please install the program or fix the script, then let me run it again.",
        ),
        (_, Reason::RepairBudgetExhausted { repairs: 0 }) => {
            (Decision::TryAgain, "Please fix the script, then let me run it again.")
        }
        (Some(Code::ScopeForbidden | Code::ScopeOutsideAllowed), _) => (
            Decision::TryAgain,
            "A repair may change only the files that the command names, or those below \
             “repair.scope” in the settings. Please fix the cause, then let me run it again.",
        ),
        _ => (Decision::ProvideGuidance, HINT),
    }
}

/// Returns what a person can do by hand about a code.
const fn hands_advice(code: Option<Code>) -> &'static str {
    let Some(code) = code else {
        return "Please fix what is in the way, then tell me to try again.";
    };
    match code {
        Code::AuthInvalid => {
            "Please provide a key or password that works, then tell me to try again."
        }
        Code::AuthExpired => "Please log in again, then tell me to try again.",
        Code::AuthMissing => "Please add the key or password, then tell me to try again.",
        Code::ProviderRejected => {
            "Please check which AI service and model are set, then tell me to try again."
        }
        Code::ProviderNotAvailable => {
            "Please install the AI helper, or correct “agent.model” in the settings or in the task. Then \
             tell me to try again."
        }
        Code::ProviderQuota => {
            "Please add credit or raise the spending cap, then tell me to try again."
        }
        Code::GitStatusFailed => {
            "Please check that the project folder can be read, then tell me to try again."
        }
        Code::GitCommitFailed => {
            "Please find out why the work cannot be committed, then tell me to try again. My copy \
             of the work is safe."
        }
        Code::EnvDiskFull => "Please free some space on the disk, then tell me to try again.",
        Code::ToolAccessDenied => {
            "Please look in its output for what it was refused, and give it that permission. Then \
             tell me to try again."
        }
        Code::ToolQuota => {
            "Please add credit or change the plan, or wait for the limit to clear. Then tell me to \
             try again."
        }
        Code::PreconditionMissing => {
            "Please create what is missing or tell the task where it is, then tell me to try again."
        }
        _ => "Please fix what is in the way, then tell me to try again.",
    }
}

const fn permission_advice(
    code: Option<Code>,
    risk: Risk,
    named: bool,
) -> (Decision, &'static str) {
    match (code, risk) {
        (_, Risk::Never) => (
            Decision::ProvideGuidance,
            "Let the AI helper find a way without it. If it must be done, do it yourself.",
        ),
        (_, Risk::Undeclared) => (
            Decision::ProvideGuidance,
            "Something in it cannot be undone, so it runs only as an action that the AI helper \
             declares. Let the AI helper find a way without it, or do it yourself.",
        ),
        (_, Risk::Blocked) => (
            Decision::ProvideGuidance,
            "Your settings block it (`commands.blocked`), so better not: let the AI helper find a \
             way without it.",
        ),
        (_, Risk::Destructive) => (
            Decision::ProvideGuidance,
            "It may not be possible to undo it, so better not: let the AI helper find a way without \
             it.",
        ),
        (_, Risk::Irreversible | Risk::IrreversibleRequest) => (
            Decision::Deny,
            "It cannot be undone, so better not, unless you expected it. If you did, allow it this \
             once.",
        ),
        (_, Risk::Outside | Risk::Guarded) => (
            Decision::ProvideGuidance,
            "Let the AI helper find a way without it. If it must be changed, change it yourself.",
        ),
        (Some(Code::PermissionSkipDenied), _) => (
            Decision::Deny,
            "Better not: it would let the AI helper do anything here without a check.",
        ),
        (Some(Code::PermissionFileAccess), _) if !named => {
            (Decision::Deny, "Better not, unless the change is what you want.")
        }
        (Some(Code::PermissionFileAccess), _) => (
            Decision::ProvideGuidance,
            "The safe choice is to continue without it. If it is what you want, allow it this \
             once.",
        ),
        _ => (
            Decision::AllowOnce,
            "It is not on the list of what may run. If you expected it, allow it this once. If \
             not, do not allow it.",
        ),
    }
}

fn choice_advice(code: Option<Code>, reason: Reason) -> (Decision, &'static str) {
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
            (Decision::ProvideGuidance, "A short answer is enough. I continue with your words.")
        }
        Code::ProviderContextTooLong | Code::ProviderOutputLimit | Code::LogicLimit => (
            Decision::SimplerVersion,
            "The task is too big in one piece. A simpler version has a better chance.",
        ),
        Code::ProviderRefused => (
            Decision::ProvideGuidance,
            "Say it in other words, and say why it is fine to do. I try again with that.",
        ),
        Code::ScopeForbidden | Code::ScopeOutsideAllowed => (
            Decision::ProvideGuidance,
            "Tell me how to do it without those files, or let the task touch them.",
        ),
        Code::GitConflict => {
            (Decision::ProvideGuidance, "Tell me which of the two changes should win.")
        }
        Code::ToolMissing => (
            Decision::ProvideGuidance,
            "Install the program and say so, or tell me what to use in its place.",
        ),
        Code::ToolConfig => {
            (Decision::ProvideGuidance, "Tell me how the program should be set up here.")
        }
        Code::ValidationPreCommit | Code::ValidationPrePush | Code::ValidationPrePr => (
            Decision::ProvideGuidance,
            "Tell me what the check is there for, or which part of the work matters most.",
        ),
        _ => (Decision::ProvideGuidance, HINT),
    }
}

const HINT: &str = "A hint helps most: what you would try next, or what I have got wrong.";

const fn paused_advice(reason: Reason) -> (Decision, &'static str) {
    match reason {
        Reason::TooManyQuestions { .. } => (
            Decision::Continue,
            "Please answer some of the open questions first. When enough of them are answered, I \
             continue by myself.",
        ),
        Reason::BudgetSpent { span: BudgetSpan::Task } => (
            Decision::Continue,
            "If the task is still worth it, let me continue. I ask again when that amount is \
             spent.",
        ),
        Reason::BudgetSpent { span: BudgetSpan::Day } => (
            Decision::Continue,
            "If what is left is still worth it, let me continue. I ask again when that amount is \
             spent, and on another day.",
        ),
        Reason::BudgetSpent { .. } => (
            Decision::Continue,
            "If what is left is still worth it, let me continue. I ask again when that amount is \
             spent.",
        ),
        _ => (Decision::Continue, "If you see no reason against it, let me continue."),
    }
}

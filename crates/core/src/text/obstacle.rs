//! The obstacle for each code, and the result of an attempt for each code, in plain words.

use std::borrow::Cow;

use super::output::telling_line;
use super::say::{capitalize_first, span_words};
use super::verbatim::{QUESTION_CHARS_MAX, VALUE_CHARS_MAX, quote_words, verbatim_line};
use crate::fault::{
    Category, Code, ExpiredCertificate, Fault, Kind, REFUSED_ACTION, REFUSED_MESSAGE, REFUSED_PUSH,
    Tool, UNDONE_ACTION, Validation, Work,
};
use crate::time::Span;

/// The known facts about an obstacle besides its code. Without a name the sentence stays general.
#[derive(Clone, Copy, Debug, Default)]
pub struct Obstacle<'a> {
    /// The account or service, as it appears in a sentence.
    pub account: Option<&'a str>,
    /// The check, command, file or thing concerned, verbatim.
    pub what: Option<&'a str>,
    /// The program that uses the account, if it is not the service's own.
    pub program: Option<&'a str>,
    /// The environment variable that holds the key.
    pub variable: Option<&'a str>,
    /// `true` if the program has its own login, without a key.
    pub logged_in: bool,
    /// The model that the service does not know.
    pub model: Option<&'a str>,
    /// The result of the setup command, if that is the obstacle.
    pub setup_ended: Option<&'a str>,
    /// The result of a check that exceeded its time limit before the work began.
    pub check_ended: Option<&'a str>,
    /// The access that the sandbox denied to a check or a hook, as a sentence.
    pub kept: Option<&'a str>,
    /// Why a check does not start before the work, and what helps, as sentences.
    pub broken: Option<&'a str>,
    /// Why a change needs a person's yes, or where the work is that no commit covers, as a sentence.
    pub why: Option<&'a str>,
    /// `true` if git did not accept a push, because the remote has commits that are not here.
    pub rejected_push: bool,
    /// The expired certificate of the server, which is then the account.
    pub expired_certificate: Option<&'a ExpiredCertificate>,
    /// The cause, if the code alone does not tell it.
    pub cause: Option<SpecificCause>,
    /// The phase in which a step is not allowed.
    pub phase: Option<&'a str>,
    /// The kind of work, which decides where its phase is declared.
    pub work: Option<Work>,
    /// Whether it was met more than once.
    pub again: bool,
}

/// A cause that the code alone does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecificCause {
    /// A server did not show the key that this machine knows.
    UnverifiedHost,
    /// Another program or person holds a lock.
    HeldLock,
    /// No attempt changed any file.
    NothingChanged,
    /// The work is in a place that no commit covers.
    MisplacedWork,
}

impl SpecificCause {
    /// Returns the cause of a fault, if its code alone does not tell it.
    pub fn from_fault(fault: &Fault) -> Option<Self> {
        if fault.is_held_lock() {
            return Some(Self::HeldLock);
        }
        if fault.is_misplaced_work() {
            return Some(Self::MisplacedWork);
        }
        fault.is_unverified_host().then_some(Self::UnverifiedHost)
    }
}

/// Describes the obstacle in full sentences.
#[expect(clippy::too_many_lines, reason = "one sentence per code, exhaustive on purpose")]
pub fn describe_obstacle(code: Code, about: &Obstacle<'_>) -> String {
    let account = about.account.unwrap_or(usual_account(code));
    let again = about.again;
    let named = |said: &str| with_subject(said, about.what);
    let said = match code {
        Code::ProviderCrash => "the AI helper stopped in the middle of its work.",
        Code::ProviderApiError => {
            return capitalize_first(&format!(
                "{account} has trouble on its side and gives no answer."
            ));
        }
        Code::ProviderRateLimit | Code::NetworkRateLimit => {
            let asks = if again { "keeps asking" } else { "asked" };
            return capitalize_first(&format!("{account} {asks} me to slow down."));
        }
        Code::ProviderOverloaded => {
            return capitalize_first(&format!("{account} is too busy to take more work."));
        }
        Code::ProviderUsageLimit => {
            return format!("The plan for {account} is used up for now.");
        }
        Code::ProviderContextTooLong => {
            "the work has grown too long for the AI helper to keep in mind, even when I shorten it."
        }
        Code::ProviderOutputLimit => {
            "the AI helper has more to write than it can put into one answer, and gets cut off."
        }
        Code::ProviderRefused => "the AI helper says it will not do this as it is asked.",
        Code::ProviderRejected => {
            return capitalize_first(&format!("{account} did not accept my request."));
        }
        Code::ProviderNotAvailable if about.model.is_some() => {
            let model = about.model.and_then(|model| quote_words(model, VALUE_CHARS_MAX));
            let model = model.unwrap_or_default();
            return capitalize_first(&format!("{account} does not know the model {model}."));
        }
        Code::ProviderNotAvailable => {
            "the AI helper this work needs, or its model, is not available."
        }
        Code::ProviderQuota => {
            return capitalize_first(&format!(
                "{account} has no credit left, or its spending cap is reached."
            ));
        }
        Code::OperationTimeout => return named("one step took too long, so I ended it"),
        Code::IterationTimeout | Code::ValidationPreCommit if about.why.is_some() => {
            return about.why.unwrap_or_default().to_owned();
        }
        Code::IterationTimeout => "a round of work took too long, so I ended it.",
        Code::ValidationPreCommit
            if about.cause == Some(SpecificCause::NothingChanged) && about.what.is_some() =>
        {
            return with_red_check("the AI helper changes nothing", about.what);
        }
        Code::ValidationPreCommit if again => {
            return named("a check that must pass before I save the work still fails");
        }
        Code::ValidationPreCommit => {
            return named("a check that must pass before I save the work fails");
        }
        Code::ValidationPrePush => {
            return named("a check that must pass before I share the work fails");
        }
        Code::ValidationPrePr => {
            return named("a check that must pass before the work goes to review fails");
        }
        Code::ValidationRedBase => {
            let fails =
                named("a check failed before the work began, and still fails with nothing new");
            return format!("{fails} The work itself is finished. Does it belong to the work?");
        }
        Code::ScopeForbidden => {
            let changed = named("the work changed files that are off limits");
            return format!("{changed} I reverted those changes and kept a copy.");
        }
        Code::ScopeOutsideAllowed => {
            let changed = named("the work changed files outside the part it may touch");
            return format!("{changed} I reverted those changes and kept a copy.");
        }
        Code::ScopeUserDenied => "you did not allow a change, so I reverted it and kept a copy.",
        Code::ConfigInvalid => "one of the settings has a value that cannot work.",
        Code::ConfigMissing => "the file with the settings is not there.",
        Code::ConfigEnvVarMissing => "the settings need a value that is not set on this machine.",
        Code::ConfigParseError => "I cannot read a file with settings or tasks.",
        Code::GitStatusFailed => {
            "I cannot list what has changed in the project, so I let nothing pass."
        }
        Code::GitCommitFailed if about.what.is_some() => {
            let said = named("I cannot save the finished work into the project");
            return format!("{said} Its files stay in the folder it was done in.");
        }
        Code::GitCommitFailed => {
            "I cannot save the finished work into the project. Its files stay in the folder it was done in."
        }
        Code::GitPushFailed => "I could not push the finished work.",
        Code::GitLocked => "another program has locked the project.",
        Code::GitConflict if about.rejected_push => {
            "the remote has commits that are not here yet, so git did not accept the push."
        }
        Code::GitConflict => "this work and other work change the same lines in different ways.",
        Code::GitRevertFailed => "I could not revert a change, so I left the work as it is.",
        Code::PermissionSkipDenied => {
            "the AI helper wants to work without asking first, and the rules here forbid it."
        }
        Code::PermissionCommandBlocked => {
            return named("the AI helper wants to run a command that the rules here do not allow");
        }
        Code::PermissionFileAccess => {
            let said = named("the work has changed something that needs your approval first");
            return about.why.map_or(said.clone(), |why| format!("{said} {why}"));
        }
        Code::AuthInvalid if about.cause == Some(SpecificCause::UnverifiedHost) => {
            let server = about.account.unwrap_or("a server");
            return format!(
                "A command did not connect, because the host key of {server} is not the one that this machine knows."
            );
        }
        Code::AuthInvalid => {
            return capitalize_first(&describe_refusal(account, about));
        }
        Code::AuthExpired => return format!("The login for {account} has expired."),
        Code::AuthMissing => return format!("I have no key or password for {account}."),
        Code::NetworkUnreachable => return format!("I cannot reach {account}."),
        Code::NetworkTimeout => {
            return capitalize_first(&format!("{account} does not answer in time."));
        }
        Code::NetworkUnavailable => {
            return capitalize_first(&format!("{account} is down at the moment."));
        }
        Code::EnvConnection => return format!("A command cannot reach {account}."),
        Code::EnvTimeout => {
            return format!("A command waits too long for an answer from {account}.");
        }
        Code::EnvDns => "a command cannot find the address of a service it needs.",
        Code::EnvUnavailable if about.cause == Some(SpecificCause::HeldLock) => {
            "a command needs something that another program or person has locked."
        }
        Code::EnvUnavailable => {
            return capitalize_first(&format!(
                "{account}, which a command needs, is down at the moment."
            ));
        }
        Code::EnvRegistry => "the service with the ready-made packages is down at the moment.",
        Code::EnvDiskFull if about.what.is_some() => {
            return named("there is too little space on the disk to begin");
        }
        Code::EnvDiskFull => "the disk is full, so nothing more can be saved.",
        Code::ToolRateLimit => {
            let asks = if again { "keeps asking" } else { "asked" };
            return format!("{} {asks} a command to slow down.", capitalize_first(account));
        }
        Code::ToolCrash if again => {
            return named("a program that the work needs keeps crashing");
        }
        Code::ToolCrash => return named("a program that the work needs crashed"),
        Code::ToolAccessDenied if about.account.is_none() => {
            return named("a command was not allowed to do what it needs");
        }
        Code::ToolAccessDenied => {
            return capitalize_first(&format!("{account} did not give a command access."));
        }
        Code::ToolQuota => {
            return capitalize_first(&format!(
                "{account} has reached a limit, or needs more credit or another plan."
            ));
        }
        Code::ToolMissing => return named("a program that the work needs is not installed"),
        Code::ToolConfig if about.expired_certificate.is_some() => {
            return describe_expired_certificate(about);
        }
        Code::ToolConfig => {
            return named(
                "a program does not accept its settings, its arguments or a file that it was given",
            );
        }
        Code::PreconditionMissing if about.check_ended.is_some() => {
            let ended = about.check_ended.unwrap_or_default();
            return describe_slow_check(about.what, ended);
        }
        Code::PreconditionMissing if about.broken.is_some() => {
            return about.broken.unwrap_or_default().to_owned();
        }
        Code::PreconditionMissing if about.kept.is_some() => {
            return describe_denied_access(about.kept.unwrap_or_default(), about.what);
        }
        Code::PreconditionMissing => {
            return about.setup_ended.map_or_else(
                || named("something that the work needs is not there"),
                |ended| describe_setup_failure(about.what, ended),
            );
        }
        Code::BudgetExhausted => "the budget has no room for the next step.",
        Code::PreconditionInput => "the AI helper needs an answer from you before it can continue.",
        Code::LogicError if again => return named("the same error came back"),
        Code::LogicError => return named("it ended in an error"),
        Code::LogicBadInput => return named("a step got input that it cannot use"),
        Code::LogicPhaseViolation if about.phase.is_some() => {
            return describe_phase_violation(about);
        }
        Code::LogicPhaseViolation => {
            return named("the work tried a step at a time when it is not allowed");
        }
        Code::LogicLimit => "the work used up all the steps it may take.",
        Code::LogicNoProgress if about.work == Some(Work::Job) => {
            "the AI helper was to repair it and made no progress."
        }
        Code::LogicNoProgress | Code::LogicRepeatedApproach
            if about.cause == Some(SpecificCause::NothingChanged) =>
        {
            return with_red_check("the AI helper changes nothing", about.what);
        }
        Code::LogicNoProgress => {
            return with_red_check("the AI helper makes no progress", about.what);
        }
        Code::LogicRepeatedApproach => {
            return with_red_check(
                "the AI helper repeated an approach that had failed before",
                about.what,
            );
        }
        Code::InternalError => "something inside Unstuck went wrong.",
        Code::InternalStore => "Unstuck could not read or write its own records.",
    };
    capitalize_first(said)
}

/// Says whose certificate has expired and when, as far as known, and which command met it.
fn describe_expired_certificate(about: &Obstacle<'_>) -> String {
    let in_quotes =
        |words: Option<&str>| words.and_then(|words| quote_words(words, VALUE_CHARS_MAX));
    let server = about.account.map_or_else(|| "a server".to_owned(), str::to_owned);
    let at = about.expired_certificate.and_then(|certificate| certificate.at.as_deref());
    let at = in_quotes(at).map_or_else(String::new, |at| format!(" ({at})"));
    let command = in_quotes(about.what).unwrap_or_else(|| "a command".to_owned());
    format!("The certificate of {server} has expired{at}, so {command} did not connect.")
}

/// Names the action, the phase that does not allow it, and where the phase is declared.
fn describe_phase_violation(about: &Obstacle<'_>) -> String {
    let phase = about.phase.unwrap_or_default();
    let in_quotes = |words: &str| quote_words(words, VALUE_CHARS_MAX).unwrap_or_default();
    let what = about.what.map_or_else(|| "an action".to_owned(), in_quotes);
    let declared = match about.work {
        Some(Work::Job) => format!(
            "The phase is set by {} of the command or {} of the job in the settings.",
            in_quotes(&format!("--phase {phase}")),
            in_quotes(&format!("phase = \"{phase}\"")),
        ),
        _ => format!(
            "The phase is set by the line {} of the task.",
            in_quotes(&format!("phase: {phase}"))
        ),
    };
    format!(
        "The work tried {what} in the phase {}, which may do nothing that cannot be undone. I did not do it. \
         {declared}",
        in_quotes(phase)
    )
}

/// Says that the work has not begun, because a setup command failed.
fn describe_setup_failure(command: Option<&str>, ended: &str) -> String {
    let command = command.and_then(|command| quote_words(command, VALUE_CHARS_MAX));
    let command = command.map_or_else(String::new, |command| format!(" {command}"));
    format!("The setup command{command} {ended}, so the work has not begun.")
}

/// Says which access the sandbox denied, and which line of the settings allows it.
fn describe_denied_access(said: &str, line: Option<&str>) -> String {
    let line = line.and_then(|line| quote_words(line, QUESTION_CHARS_MAX));
    line.map_or_else(
        || said.to_owned(),
        |line| format!("{said} The settings can allow it: {line}."),
    )
}

/// Says that the work has not begun, because a check does not end in time.
fn describe_slow_check(command: Option<&str>, ended: &str) -> String {
    let command = command.and_then(|command| quote_words(command, VALUE_CHARS_MAX));
    let command = command.map_or_else(String::new, |command| format!(" {command}"));
    format!("The check{command} {ended}, so the work has not begun.")
}

/// Says which key or login a service refused, as far as known.
fn describe_refusal(account: &str, about: &Obstacle<'_>) -> String {
    let variable = about.variable.and_then(|name| quote_words(name, VALUE_CHARS_MAX));
    match (variable, about.program) {
        (Some(variable), Some(program)) => {
            format!("{account} refused the key in {variable}, which {program} uses.")
        }
        (Some(variable), None) => format!("{account} refused the key in {variable}."),
        (None, Some(program)) if about.logged_in => {
            format!("{account} refused the login of {program}.")
        }
        (None, None) if about.logged_in => format!("{account} refused the login I have."),
        _ => format!("{account} refused the key or password I have."),
    }
}

/// Appends the name of the subject to the sentence, if there is one.
fn with_subject(said: &str, what: Option<&str>) -> String {
    match what.and_then(|what| quote_words(what, VALUE_CHARS_MAX)) {
        Some(what) => format!("{}: {what}.", capitalize_first(said)),
        None => format!("{}.", capitalize_first(said)),
    }
}

/// Prefixes the sentence with the check that is still red, if there is one.
fn with_red_check(said: &str, check: Option<&str>) -> String {
    match check.and_then(|check| quote_words(check, VALUE_CHARS_MAX)) {
        Some(check) => format!("{check} still fails, and {said}."),
        None => format!("{}.", capitalize_first(said)),
    }
}

/// Returns the phrase for an account without a name.
const fn usual_account(code: Code) -> &'static str {
    match code.row().category {
        Category::Provider => "the AI service",
        Category::Permission => "an account that this work needs",
        Category::Network => "a service that this work needs",
        _ => "an outside service",
    }
}

/// The prefix of the sources of faults of a repository's own hooks.
const HOOKS: &str = "hook:";
/// The source of the fault of a change that seems to hold a secret. The lines of its output name the places:
/// `src/a.py:3: a secret (a key)`.
pub const SECRETS: &str = "validate:secrets";

/// The beginning of the message of a fault of an agent that became silent; the time follows.
pub const SILENT: &str = "nothing more was heard of it for ";
/// The beginning of the message of a fault of an agent that was never heard of; the time follows.
pub const UNHEARD: &str = "nothing was heard of it for ";

/// The beginning of the message of a fault whose AI service was not reached; its host follows.
pub const NO_CONNECTION: &str = "no connection to ";

/// Returns the result of an attempt, with its facts if known: the step that timed out, the command that was
/// refused, the command and the address that it did not reach. Fits after "because".
pub fn failure_phrase_with_facts(fault: &Fault) -> String {
    if let Kind::ToolConfig(Tool { expired_certificate: Some(_), host, .. }) = &fault.kind {
        let host = host.as_ref().and_then(|host| quote_words(host, VALUE_CHARS_MAX));
        let server = host.unwrap_or_else(|| "a server".to_owned());
        return format!("the certificate of {server} has expired");
    }
    match SpecificCause::from_fault(fault) {
        Some(SpecificCause::UnverifiedHost) => {
            return "the host key of a server is not the one that this machine knows".to_owned();
        }
        Some(SpecificCause::HeldLock) => {
            return with_facts("something was locked", fault);
        }
        _ => {}
    }
    let unreached = fault.message.strip_prefix(NO_CONNECTION);
    let unreached = unreached.filter(|_| fault.code() == Code::ProviderApiError);
    if let Some(host) = unreached.and_then(|host| quote_words(host, VALUE_CHARS_MAX)) {
        return format!("the AI service at {host} cannot be reached");
    }
    if let Some(said) = red_check_phrase(fault).or_else(|| setup_phrase(fault)) {
        return said;
    }
    if let Some(said) = hindrance_phrase(fault) {
        return said.to_owned();
    }
    if let Some(span) = silent_span(fault) {
        return format!("nothing was heard of the AI helper for {span}");
    }
    if let Some(model) = unknown_model(fault).and_then(|name| quote_words(name, VALUE_CHARS_MAX)) {
        return format!("the AI service does not know the model {model}");
    }
    with_facts(failure_phrase(fault.told_code(), false), fault)
}

/// Says what is in the way of the work, where the code alone would call it something missing.
fn hindrance_phrase(fault: &Fault) -> Option<&'static str> {
    Some(match &*fault.source {
        REFUSED_MESSAGE => "a hook refused the commit message",
        REFUSED_PUSH => "a hook refused the push",
        REFUSED_ACTION => "an action of it was refused",
        UNDONE_ACTION => "an action of it did not happen",
        _ if fault.is_slow_base() => "a check takes too long",
        _ if fault.is_broken_base() => "a check does not start",
        _ => return None,
    })
}

/// Appends the step, the command and the address of a failure, as far as known.
fn with_facts(failed: &str, fault: &Fault) -> String {
    let step = slow_step(fault).map(Cow::Owned);
    let (command, address) = fault.failed_connection();
    let refused = refused_command(fault).map(Cow::Borrowed);
    let facts = step.into_iter().chain(refused).chain(command.map(Cow::Borrowed)).chain(address);
    let facts: Vec<_> = facts.filter_map(|fact| quote_words(&fact, VALUE_CHARS_MAX)).collect();
    if facts.is_empty() { failed.to_owned() } else { format!("{failed} ({})", facts.join(", ")) }
}

/// Returns the failure as a sentence, with the line of the output that says most about it, if there is one.
pub fn describe_failure(fault: &Fault) -> String {
    let said = failure_phrase_with_facts(fault);
    let output = red_check(fault).map_or(fault.message.as_str(), |red| red.output.as_str());
    let line = telling_line(output).filter(|_| fault.source != SECRETS);
    let line = line.and_then(|line| quote_words(line, VALUE_CHARS_MAX));
    match line.filter(|line| !said.contains(line.as_str())) {
        Some(line) => format!("{}: {line}.", capitalize_first(&said)),
        None => format!("{}.", capitalize_first(&said)),
    }
}

/// Returns the red check of a fault.
const fn red_check(fault: &Fault) -> Option<&Validation> {
    match &fault.kind {
        Kind::ValidationPreCommit(red)
        | Kind::ValidationPrePush(red)
        | Kind::ValidationPrePr(red)
        | Kind::ValidationRedBase(red) => Some(red),
        _ => None,
    }
}

/// Says which check failed, which hook refused, or which file seems to hold a secret.
fn red_check_phrase(fault: &Fault) -> Option<String> {
    let red = red_check(fault)?;
    if fault.source == SECRETS {
        let (file, _) = red.output.lines().next()?.split_once(": a secret")?;
        let file = quote_words(file, VALUE_CHARS_MAX)?;
        return Some(format!("the change holds what looks like a secret (in {file})"));
    }
    if fault.is_misplaced_work() {
        let place = fault.message.lines().next()?.strip_prefix("your work ")?;
        return Some(format!("the work {}", verbatim_line(place, VALUE_CHARS_MAX)));
    }
    let name = quote_words(&red.command, VALUE_CHARS_MAX)?;
    if fault.source.starts_with(HOOKS) {
        let what = if fault.code() == Code::ValidationPrePush { "push" } else { "commit" };
        return Some(format!("the hook {name} refused the {what}"));
    }
    let rest = failure_phrase(fault.code(), false).strip_prefix("a check")?;
    Some(format!("the check {name}{rest}"))
}

/// Says which setup command kept the work from beginning, and how it ended.
fn setup_phrase(fault: &Fault) -> Option<String> {
    let Kind::PreconditionMissing(of) = &fault.kind else { return None };
    let ended = fault.cause.as_deref().filter(|_| fault.is_setup_failure())?;
    let command = quote_words(&of.what, VALUE_CHARS_MAX)?;
    Some(format!("the setup command {command} {ended}"))
}

/// Returns for how long nothing was heard of an agent, if it was ended for that.
pub fn silent_span(fault: &Fault) -> Option<String> {
    let Kind::IterationTimeout(of) = &fault.kind else { return None };
    let is_silent = fault.message.starts_with(SILENT) || fault.message.starts_with(UNHEARD);
    is_silent.then(|| span_words(Span::from_millis(of.limit_ms)))
}

/// Returns the model that was asked for, if its service says that it does not exist.
pub fn unknown_model(fault: &Fault) -> Option<&str> {
    let Kind::ProviderNotAvailable(of) = &fault.kind else { return None };
    of.model.as_deref().filter(|model| !model.is_empty() && fault.message.contains(model))
}

/// Returns the first of the commands that were refused.
fn refused_command(fault: &Fault) -> Option<&str> {
    let Kind::PermissionCommandBlocked(of) = &fault.kind else { return None };
    of.commands.first().map(String::as_str)
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
        Code::ProviderApiError => "the AI service had trouble or could not be reached",
        Code::ProviderRateLimit => "the AI service asked to slow down",
        Code::ProviderOverloaded => "the AI service was too busy",
        Code::ProviderUsageLimit => "the usage limit of the plan was reached",
        Code::ProviderContextTooLong => "the conversation grew too long for the model",
        Code::ProviderOutputLimit => "the answer was cut off because it was too long",
        Code::ProviderRefused => "the AI helper would not do it as asked",
        Code::ProviderRejected => "the AI service did not accept the way I called it",
        Code::ProviderNotAvailable => "the AI helper or its model was not available",
        Code::ProviderQuota => "the account had no credit left",
        Code::IterationTimeout => "the attempt took too long",
        Code::OperationTimeout => "one step took too long",
        Code::ValidationPreCommit | Code::ValidationPrePush | Code::ValidationPrePr if again => {
            "the same check failed"
        }
        Code::ValidationPreCommit => "a check failed",
        Code::ValidationPrePush => "a check failed before the work was shared",
        Code::ValidationPrePr => "a check failed before the review",
        Code::ValidationRedBase => "a check still fails with what failed before the work began",
        Code::ScopeForbidden if again => "it changed files that are off limits again",
        Code::ScopeForbidden => "it changed files that are off limits",
        Code::ScopeOutsideAllowed if again => "it changed files outside its part again",
        Code::ScopeOutsideAllowed => "it changed files outside its part",
        Code::ScopeUserDenied => "you did not allow the change",
        Code::ConfigInvalid => "a setting had a value that cannot work",
        Code::ConfigMissing => "the file with the settings was not there",
        Code::ConfigEnvVarMissing => "a value that the settings need was not set",
        Code::ConfigParseError => "a file with settings or tasks could not be read",
        Code::GitStatusFailed => "the changes could not be listed",
        Code::GitCommitFailed => "the work could not be committed",
        Code::GitPushFailed => "the work could not be pushed",
        Code::GitLocked => "another program had locked the project",
        Code::GitConflict => "it conflicted with other work on the same lines",
        Code::GitRevertFailed => "a change could not be taken back",
        Code::PermissionSkipDenied => "the AI helper may not work without asking first",
        Code::PermissionCommandBlocked => "it needed a step that is not allowed",
        Code::PermissionFileAccess => "it changed something that needs your approval",
        Code::AuthInvalid => "the account refused the key",
        Code::ToolAccessDenied => "a command was denied access",
        Code::AuthExpired => "the login had expired",
        Code::AuthMissing => "there was no key to log in with",
        Code::NetworkUnreachable | Code::EnvConnection => "a service could not be reached",
        Code::NetworkTimeout | Code::EnvTimeout => "a service did not answer in time",
        Code::NetworkUnavailable | Code::EnvUnavailable => "a service was down",
        Code::NetworkRateLimit | Code::ToolRateLimit => "a service asked to slow down",
        Code::EnvDns => "a service could not be found",
        Code::EnvRegistry => "the service with the ready-made packages was down",
        Code::EnvDiskFull => "the disk was full",
        Code::ToolCrash => "a program it needs crashed",
        Code::ToolQuota => "an account had reached its limit",
        Code::ToolMissing => "a program it needs was not installed",
        Code::ToolConfig => "a program did not accept its settings, its arguments or a file",
        Code::PreconditionMissing => "something it needs was not there",
        Code::BudgetExhausted => "the budget had no room for the next step",
        Code::PreconditionInput => "it needs an answer from you",
        Code::LogicError if again => "the same error came back",
        Code::LogicError => "it ended in an error",
        Code::LogicBadInput => "a step got input that it could not use",
        Code::LogicPhaseViolation => "a step came at a time when it is not allowed",
        Code::LogicLimit => "it used up all its steps",
        Code::LogicNoProgress => "it made no progress",
        Code::LogicRepeatedApproach => "it was the same approach as one that had failed",
        Code::InternalError | Code::InternalStore => "something inside Unstuck went wrong",
    }
}

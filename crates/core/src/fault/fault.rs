//! The [`Fault`] type: one failure, classified where it was detected.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::context::{
    Auth, BudgetSpent, CommandEnd, Config, Crash, ExpiredCertificate, Files, GitOperation, Http,
    Input, Internal, Kind, Limit, Logic, Missing, NoProgress, Permission, Provider, RateLimit,
    Repeated, Timeout, Tool, Validation,
};
use super::text_rules::{self, HELD_ELSEWHERE, find_unreached_address};
use crate::code::{
    Asks, Category, Charge, Class, Code, ErrorType, Origin, Reaction, Work, with_fault_table,
};
use crate::signature::Signature;
use crate::time::{Span, Time};

/// The source of faults of setup commands.
const SETUP: &str = "setup";
/// The source of a refusal by the agent program itself.
pub const OF_AGENT: &str = "agent";
/// The source of a check that exceeds its time limit on the baseline, before any agent has worked.
pub const SLOW_BASE: &str = "validate:base:timeout";
/// Where files were met that change how the checks run.
pub const CHECK_FILES: &str = "scope:checks";
/// The source of changes that need a yes and that the task's own words lead to.
pub const EXPECTED_CHANGE: &str = "scope:expected";
/// The source of a check that cannot pass until a person has added a line to the settings: no agent can
/// fix it.
pub const KEPT_BASE: &str = "validate:base:kept";
/// The source of a check that does not start on the baseline, because of a part of the project or a wrong
/// name in the settings.
pub const BROKEN_BASE: &str = "validate:base:broken";
/// The source of a repository hook to which the sandbox denied access.
pub const KEPT_HOOK: &str = "hook:kept";
/// The source of a repository hook that did not find a program.
pub const BROKEN_HOOK: &str = "hook:program";
/// The source of the fault of a commit message that a hook refused.
pub const REFUSED_MESSAGE: &str = "hook:message";
/// The source of the fault of a push that a hook refused.
pub const REFUSED_PUSH: &str = "hook:push";
/// The source of the fault of a script that ended because an action of it was refused.
pub const REFUSED_ACTION: &str = "mutate:refused";
/// The source of the fault of a script that never waits until its action is settled.
pub const UNDONE_ACTION: &str = "mutate:undone";
/// The source of work in a place that no commit covers.
pub const MISPLACED_WORK: &str = "workspace:elsewhere";
/// The common prefix of sources of checks on the baseline.
const BASE: &str = "validate:base";

/// The way a fault got its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClassifiedBy {
    /// From structured facts: an HTTP status, an errno, an exit code, a field of an event.
    #[default]
    Typed,
    /// By a text rule, on the output of a foreign program.
    Rule(&'static str),
}

/// A failure: its code and context, its origin and source, and the operator's message.
///
/// Decisions depend on the code and the origin. The message is for operators; it never decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The code with its context.
    pub kind: Kind,
    /// The party that raised the fault.
    pub origin: Origin,
    /// The place that raised the fault: `git.push`, `anthropic-api`, `validate:pre_commit#1`.
    pub source: String,
    /// Operator text, redacted. Never shown to the public.
    pub message: String,
    /// The wait that the remote side asked for.
    pub retry_after: Option<Span>,
    /// The time at which the remote side said its limit resets.
    pub resets_at: Option<Time>,
    /// The message of the underlying error.
    pub cause: Option<String>,
    /// The end of the command that failed, if the context has no field for it.
    pub ended: Option<Box<CommandEnd>>,
    /// The way the code was determined.
    pub classified_by: ClassifiedBy,
    /// The identity of the error: equal for two occurrences of the same one.
    pub signature: Signature,
}

impl Fault {
    /// Creates a fault of `kind`, raised at `source`. The named constructors do the same for one kind each.
    pub fn new(kind: Kind, source: impl Into<String>, message: impl Into<String>) -> Self {
        let source = source.into();
        let message = message.into();
        let signature = compute_signature(&kind, &source, &message);
        Self {
            origin: kind.code().row().category.usual_origin(),
            kind,
            source,
            message,
            retry_after: None,
            resets_at: None,
            cause: None,
            ended: None,
            classified_by: ClassifiedBy::Typed,
            signature,
        }
    }

    /// Returns the message, if not empty, for records that only people read.
    pub fn evidence_text(&self) -> Option<Arc<str>> {
        (!self.message.is_empty()).then(|| Arc::from(self.message.as_str()))
    }

    /// Creates a fault from an error without a code; the origin decides the code.
    pub fn from_unclassified(
        origin: Origin,
        source: impl Into<String>,
        message: impl Into<String>,
        cause: impl fmt::Display,
    ) -> Self {
        let code = match origin {
            Origin::Agent => Code::LogicError,
            Origin::Provider | Origin::Tool => Code::ProviderCrash,
            Origin::Connector => Code::NetworkUnavailable,
            Origin::Host => Code::InternalError,
        };
        Self::new(Kind::bare(code), source, message).with_origin(origin).with_cause(cause)
    }

    /// Sets the origin.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Sets the end of the command that failed, unless the context names the command.
    #[must_use]
    pub fn with_command_end(mut self, end: CommandEnd) -> Self {
        if self.kind.command_end().command.is_none() {
            self.ended = Some(Box::new(end));
        }
        self
    }

    /// Returns the exit code of the command that failed, if it exited.
    pub fn exit_code(&self) -> Option<i32> {
        self.ended.as_ref().map_or_else(|| self.kind.command_end().exit, |ended| ended.exit)
    }

    /// Adds the command, the exit code and the output of `ended`, the fault of the script that stated this one.
    #[must_use]
    pub fn with_end_of(&self, ended: &Self) -> Self {
        let known = ended.ended.as_deref().cloned().unwrap_or_else(|| ended.kind.command_end());
        self.clone().with_command_end(CommandEnd { output: ended.message.clone(), ..known })
    }

    /// Sets the wait that the remote side asked for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Span) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Sets the time at which the remote side's limit resets.
    #[must_use]
    pub fn with_resets_at(mut self, time: Time) -> Self {
        self.resets_at = Some(time);
        self
    }

    /// Records that a text rule found the code, and sets the signature.
    #[must_use]
    pub fn with_rule(mut self, rule: &'static str, signature: Signature) -> Self {
        self.classified_by = ClassifiedBy::Rule(rule);
        self.signature = signature;
        self
    }

    /// Adds a note below the output of a failed check.
    #[must_use]
    pub fn with_output_note(mut self, note: &str) -> Self {
        if let Kind::ValidationPreCommit(context)
        | Kind::ValidationPrePush(context)
        | Kind::ValidationPrePr(context) = &mut self.kind
        {
            context.output = format!("{}\n[{note}]", context.output.trim_end());
        }
        self
    }

    /// Returns the code.
    pub const fn code(&self) -> Code {
        self.kind.code()
    }

    /// Returns the code whose words tell a person what happened: a guess from the form of a sentence is told as
    /// an error.
    pub fn told_code(&self) -> Code {
        match (self.code(), &self.classified_by) {
            (Code::ToolConfig, ClassifiedBy::Rule(rule)) if text_rules::is_guess(rule) => {
                Code::LogicError
            }
            (code, _) => code,
        }
    }

    /// Returns the category.
    pub const fn category(&self) -> Category {
        self.code().row().category
    }

    /// Returns the error type.
    pub const fn error_type(&self) -> ErrorType {
        self.code().row().error_type
    }

    /// Returns the retry class.
    pub const fn class(&self) -> Class {
        self.code().row().class
    }

    /// Returns the expired certificate of a server, if that is the failure. Neither another approach nor a
    /// repair renews it, so a person is asked at once.
    pub const fn expired_certificate(&self) -> Option<&ExpiredCertificate> {
        match &self.kind {
            Kind::ToolConfig(tool) => tool.expired_certificate.as_ref(),
            _ => None,
        }
    }

    /// Returns whether another program or person holds a lock that the command needs.
    pub fn is_held_lock(&self) -> bool {
        self.classified_by == ClassifiedBy::Rule(HELD_ELSEWHERE)
    }

    /// Returns whether a server did not show the key that this machine knows.
    pub fn is_unverified_host(&self) -> bool {
        let refused = || self.message.to_ascii_lowercase();
        self.code() == Code::AuthInvalid && refused().contains("host key verification failed")
    }

    /// Returns the command that had trouble with a service, and the address of the service, as far as known.
    pub fn failed_connection(&self) -> (Option<&str>, Option<Cow<'_, str>>) {
        let (Kind::EnvConnection(tool)
        | Kind::EnvTimeout(tool)
        | Kind::EnvDns(tool)
        | Kind::EnvUnavailable(tool)
        | Kind::EnvRegistry(tool)
        | Kind::ToolRateLimit(tool)) = &self.kind
        else {
            return (None, None);
        };
        let named = tool.host.as_deref().map(Cow::Borrowed);
        let found = || find_unreached_address(self.message.as_bytes()).map(Cow::Owned);
        (tool.command.as_deref(), named.or_else(found))
    }

    /// Returns the automatic reaction.
    pub const fn reaction(&self, work: Work) -> Reaction {
        if self.expired_certificate().is_some() {
            return Reaction::Ask;
        }
        self.code().reaction(work)
    }

    /// Returns the counters that are charged.
    pub fn charges(&self, work: Work) -> &'static [Charge] {
        if self.expired_certificate().is_some() {
            return &[];
        }
        self.code().charges(work)
    }

    /// Returns the kind of question that is asked when a person has to be.
    pub const fn asks(&self) -> Asks {
        if self.expired_certificate().is_some() {
            return Asks::Hands;
        }
        self.code().row().asks
    }

    /// Returns whether the agent program itself refused something.
    pub fn is_agent_refusal(&self) -> bool {
        self.source == OF_AGENT
    }

    /// Returns whether a setup command failed, before any agent worked.
    pub fn is_setup_failure(&self) -> bool {
        self.source.split('#').next() == Some(SETUP)
    }

    /// Returns whether the fault kept the work from beginning, so that no agent has met it.
    pub fn is_before_work(&self) -> bool {
        let at_base = self.source.starts_with(BASE) && self.code() == Code::PreconditionMissing;
        self.is_setup_failure() || at_base
    }

    /// Returns whether the work is in a place that no commit covers; the cause may say in a sentence where.
    pub fn is_misplaced_work(&self) -> bool {
        self.source == MISPLACED_WORK
    }

    /// Returns whether a check exceeded its time limit on the baseline, before any agent worked.
    pub fn is_slow_base(&self) -> bool {
        self.source == SLOW_BASE
    }

    /// Returns whether a check does not start on the baseline, because of a part of the project or a wrong
    /// name in the settings: its cause says in sentences what is wrong, and what helps.
    pub fn is_broken_base(&self) -> bool {
        self.source == BROKEN_BASE
    }

    /// Returns whether something was refused that no agent may find a way around: the commit message, which
    /// none writes, a push for a reason outside the work, or an action of a script; or an action of a script did
    /// not happen. Its cause says so in sentences.
    pub fn is_refusal(&self) -> bool {
        matches!(&*self.source, REFUSED_MESSAGE | REFUSED_PUSH | REFUSED_ACTION | UNDONE_ACTION)
    }

    /// Whether files were taken back because they change how the checks run.
    pub fn is_check_file_change(&self) -> bool {
        self.source == CHECK_FILES
    }

    /// Returns whether the task's own words lead to the change that needs a yes.
    pub fn is_expected_change(&self) -> bool {
        self.source == EXPECTED_CHANGE
    }

    /// Returns whether the sandbox denied a check or a hook what it needs: the cause says in a sentence what
    /// was kept from what.
    pub fn is_denied_access(&self) -> bool {
        matches!(&*self.source, KEPT_BASE | KEPT_HOOK)
    }

    /// Returns whether only a line in the settings allows that access; the context has the line.
    pub fn needs_settings_line(&self) -> bool {
        let has_line = matches!(&self.kind, Kind::PreconditionMissing(of) if !of.what.is_empty());
        self.is_denied_access() && has_line
    }

    /// Returns whether the fault occurs before an agent begins, because a prerequisite is missing. Valid only
    /// for a run whose agent has done nothing yet, since some of these faults occur during the work as well.
    pub fn precedes_agent(&self) -> bool {
        match &self.kind {
            Kind::AuthMissing(_) | Kind::ProviderNotAvailable(_) | Kind::BudgetExhausted(_) => true,
            Kind::EnvDiskFull(of) => of.command.is_none(),
            _ => self.is_before_work(),
        }
    }

    /// Returns whether Unstuck retries without asking a person.
    pub const fn is_retryable(&self) -> bool {
        self.class().is_retryable()
    }
}

macro_rules! constructors {
    ($($(#[doc = $doc:literal])+
        $constructor:ident $variant:ident($context:ident) $tag:literal:
        $($column:ident)+ [$($charge:ident)*] $asks:ident;)+) => {
        impl Fault {$(
            $(#[doc = $doc])+
            pub fn $constructor(
                source: impl Into<String>,
                message: impl Into<String>,
                context: $context,
            ) -> Self {
                Self::new(Kind::$variant(context), source, message)
            }
        )+}
    };
}

with_fault_table!(constructors);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.code(), self.source, self.message)
    }
}

impl std::error::Error for Fault {}

/// Computes the signature from the parts of the fault that do not vary between occurrences of the same error.
fn compute_signature(kind: &Kind, source: &str, message: &str) -> Signature {
    let code = kind.code();
    let place = source.split('#').next().unwrap_or_default();
    match kind {
        Kind::LogicRepeatedApproach(context) => {
            context.of.unwrap_or_else(|| Signature::from_parts(code, place, &[]))
        }
        Kind::ScopeForbidden(context)
        | Kind::ScopeOutsideAllowed(context)
        | Kind::ScopeUserDenied(context) => {
            let mut files: Vec<&str> = context.files.iter().map(String::as_str).collect();
            files.sort_unstable();
            files.dedup();
            Signature::from_parts(code, place, &files)
        }
        Kind::ValidationPreCommit(context)
        | Kind::ValidationPrePush(context)
        | Kind::ValidationPrePr(context) => {
            Signature::from_output(code, place, &context.output, context.exit)
        }
        // Every task of a build that ends with this fault waits for one answer.
        Kind::ValidationRedBase(context) => Signature::from_parts(code, place, &[&context.command]),
        // A person's permission covers exactly this path or action, not one that only looks similar.
        Kind::PermissionFileAccess(context) if !context.what.is_empty() => {
            Signature::from_parts(code, place, &[&context.what])
        }
        Kind::PermissionCommandBlocked(context) if context.action.is_some() => {
            Signature::from_parts(code, place, &[&context.what])
        }
        Kind::PreconditionMissing(context)
            if matches!(
                place,
                SETUP
                    | SLOW_BASE
                    | KEPT_BASE
                    | BROKEN_BASE
                    | KEPT_HOOK
                    | BROKEN_HOOK
                    | REFUSED_MESSAGE
                    | REFUSED_PUSH
                    | REFUSED_ACTION
                    | UNDONE_ACTION
            ) =>
        {
            Signature::from_parts(code, place, &[&context.what])
        }
        Kind::ProviderCrash(context) | Kind::ToolCrash(context) => {
            Signature::from_output(code, place, message, context.exit.or(context.signal))
        }
        // The model's explanation is below the first line and is worded differently each time.
        Kind::ProviderRefused(_) => {
            Signature::from_output(code, place, message.lines().next().unwrap_or_default(), None)
        }
        _ => Signature::from_output(code, place, message, None),
    }
}

/// The JSON form: columns of the table are written beside the stored fields, for readers without the table.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FaultJson<'a> {
    name: &'static str,
    #[serde(flatten)]
    kind: &'a Kind,
    category: Category,
    #[serde(rename = "type")]
    error_type: ErrorType,
    class: Class,
    retryable: bool,
    origin: Origin,
    source: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at_ms: Option<Time>,
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a CommandEnd>,
    classified_by: String,
    signature: Signature,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Fault {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        FaultJson::json_schema(generator)
    }
}

#[derive(Deserialize)]
struct StoredFault {
    #[serde(flatten)]
    kind: Kind,
    origin: Origin,
    source: String,
    message: String,
    #[serde(default)]
    retry_after_ms: Option<Span>,
    #[serde(default)]
    resets_at_ms: Option<Time>,
    #[serde(default)]
    cause: Option<String>,
    #[serde(default)]
    ended: Option<Box<CommandEnd>>,
    #[serde(default)]
    classified_by: String,
    signature: Signature,
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FaultJson {
            name: "Fault",
            kind: &self.kind,
            category: self.category(),
            error_type: self.error_type(),
            class: self.class(),
            retryable: self.is_retryable(),
            origin: self.origin,
            source: &self.source,
            message: &self.message,
            retry_after_ms: self.retry_after,
            resets_at_ms: self.resets_at,
            cause: self.cause.as_deref(),
            ended: self.ended.as_deref(),
            classified_by: self.classified_by.to_string(),
            signature: self.signature,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = StoredFault::deserialize(deserializer)?;
        Ok(Self {
            kind: read.kind,
            origin: read.origin,
            source: read.source,
            message: read.message,
            retry_after: read.retry_after_ms,
            resets_at: read.resets_at_ms,
            cause: read.cause,
            ended: read.ended,
            classified_by: ClassifiedBy::parse(&read.classified_by),
            signature: read.signature,
        })
    }
}

impl fmt::Display for ClassifiedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => f.write_str("typed"),
            Self::Rule(rule) => write!(f, "rule:{rule}"),
        }
    }
}

impl ClassifiedBy {
    fn parse(written: &str) -> Self {
        match written.strip_prefix("rule:") {
            Some(rule) => Self::Rule(text_rules::rule_name(rule)),
            None => Self::Typed,
        }
    }
}

//! Troubles: the place of a failure, the typed fault that a detector would state, and the condition that
//! ends it.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use unstuck_core::fault::{
    BudgetSpan, BudgetSpent, Code, Fault, Files, Kind, Permission, RateLimit, Validation as Red,
};
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};

/// A failure of a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioTrouble {
    /// The place of the failure.
    pub at: TroublePlace,
    /// The fault code.
    pub code: Code,
    /// The message; the code's own sentence if `None`. The same message at the same place is the same error.
    pub message: Option<String>,
    /// Seconds that the remote side asks to wait.
    pub retry_after_seconds: Option<u64>,
    /// Seconds until the remote side says that its limit resets.
    pub resets_after_seconds: Option<u64>,
    /// The span of the exhausted budget.
    pub budget: Option<BudgetSpan>,
    /// `true` if an action's reply is lost, so that its outcome is unknown.
    #[serde(default)]
    pub reply_lost: bool,
    /// `true` if the action happens nevertheless.
    #[serde(default)]
    pub happened: bool,
    /// Seconds until its effect is visible then.
    #[serde(default)]
    pub appears_after_seconds: u64,
    /// The condition that ends the failure.
    pub ends: TroubleEnd,
}

/// The condition that ends a failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleEnd {
    /// The failure occurred this often.
    Times(u32),
    /// So many seconds passed since its first occurrence.
    Seconds(u64),
    /// The agent takes this approach.
    Approach(String),
    /// The conversation is compacted.
    Compacted,
    /// A person takes this decision, and acts on it.
    Person(Decision),
    /// The failure never ends.
    Never,
}

/// A place where a failure can occur.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroublePlace {
    /// Before the agent is called: worktree, settings, credentials.
    Prepare,
    /// The model call: the agent at work.
    Call,
    /// A command that the agent runs.
    Command,
    /// Scope and validation.
    Check,
    /// The commit.
    Commit,
    /// An irreversible action, by its key.
    Act(String),
    /// The lookup of an action's outcome, by its key.
    LookUp(String),
    /// Reverting a change that a person denied.
    TakeBack,
}

impl TroublePlace {
    /// Returns the place as the source of a fault.
    pub fn fault_source(&self) -> String {
        match self {
            Self::Prepare => "prepare".to_owned(),
            Self::Call => "agent".to_owned(),
            Self::Command => "command".to_owned(),
            Self::Check => "validate:pre_commit#1".to_owned(),
            Self::Commit => "git.commit".to_owned(),
            Self::Act(key) => format!("act:{key}"),
            Self::LookUp(key) => format!("look_up:{key}"),
            Self::TakeBack => "git.revert".to_owned(),
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Some(match name.split_once(' ') {
            Some(("act", key)) => Self::Act(key.to_owned()),
            Some(("look_up", key)) => Self::LookUp(key.to_owned()),
            Some(_) => return None,
            None => match name {
                "prepare" => Self::Prepare,
                "call" => Self::Call,
                "command" => Self::Command,
                "check" => Self::Check,
                "commit" => Self::Commit,
                "take_back" => Self::TakeBack,
                _ => return None,
            },
        })
    }
}

impl fmt::Display for TroublePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare => f.write_str("prepare"),
            Self::Call => f.write_str("call"),
            Self::Command => f.write_str("command"),
            Self::Check => f.write_str("check"),
            Self::Commit => f.write_str("commit"),
            Self::Act(key) => write!(f, "act {key}"),
            Self::LookUp(key) => write!(f, "look_up {key}"),
            Self::TakeBack => f.write_str("take_back"),
        }
    }
}

impl<'de> Deserialize<'de> for TroublePlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| {
            let known = "prepare, call, command, check, commit, take_back, act KEY or look_up KEY";
            de::Error::custom(format!("{name:?} is no place: it is {known}"))
        })
    }
}

impl ScenarioTrouble {
    /// Returns the fault as it is stated at `now`.
    pub fn to_fault(&self, now: Time) -> Fault {
        let message = self.message_text();
        let mut fault = Fault::new(self.fault_kind(&message), self.at.fault_source(), message);
        fault.retry_after = self.retry_after_seconds.map(Span::from_secs);
        fault.resets_at = self.resets_after_seconds.map(|after| now + Span::from_secs(after));
        fault
    }

    /// Returns the message.
    pub fn message_text(&self) -> String {
        self.message.clone().unwrap_or_else(|| self.code.summary().to_owned())
    }

    /// Returns the code with its context, parts of which distinguish errors.
    fn fault_kind(&self, message: &str) -> Kind {
        let red = || Red { output: message.to_owned(), exit: Some(1), ..Red::default() };
        let files = || Files { files: vec![message.to_owned()], ..Files::default() };
        let limited = || RateLimit { status: Some(429), ..RateLimit::default() };
        match Kind::bare(self.code) {
            Kind::ValidationPreCommit(_) => Kind::ValidationPreCommit(red()),
            Kind::ValidationPrePush(_) => Kind::ValidationPrePush(red()),
            Kind::ValidationPrePr(_) => Kind::ValidationPrePr(red()),
            Kind::ScopeForbidden(_) => Kind::ScopeForbidden(files()),
            Kind::ScopeOutsideAllowed(_) => Kind::ScopeOutsideAllowed(files()),
            Kind::ProviderRateLimit(_) => Kind::ProviderRateLimit(limited()),
            Kind::NetworkRateLimit(_) => Kind::NetworkRateLimit(limited()),
            Kind::PermissionFileAccess(_) => Kind::PermissionFileAccess(Permission {
                what: message.to_owned(),
                ..Permission::default()
            }),
            Kind::PermissionCommandBlocked(_) => Kind::PermissionCommandBlocked(Permission {
                what: message.to_owned(),
                commands: vec![message.to_owned()],
                ..Permission::default()
            }),
            Kind::BudgetExhausted(_) => Kind::BudgetExhausted(BudgetSpent {
                span: self.budget.unwrap_or_default(),
                unit: "tokens".to_owned(),
                ..BudgetSpent::default()
            }),
            kind => kind,
        }
    }
}

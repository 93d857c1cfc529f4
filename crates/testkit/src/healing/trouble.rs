//! Troubles: where something goes wrong, how, and what makes it end.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use unstuck_core::fault::{BudgetSpan, Code};
use unstuck_core::question::Decision;

/// Something that goes wrong with a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// Where.
    pub at: Place,
    /// What it is.
    pub code: Code,
    /// What is said of it; the code's own sentence without one. The same words at the same place
    /// are the same error.
    pub message: Option<String>,
    /// How long the other side asks to wait.
    pub retry_after_seconds: Option<u64>,
    /// In how long the other side says that it opens again.
    pub resets_after_seconds: Option<u64>,
    /// What the budget covers that is spent.
    pub budget: Option<BudgetSpan>,
    /// An action's reply is lost, so nobody knows whether it happened.
    #[serde(default)]
    pub reply_lost: bool,
    /// An action happens all the same.
    #[serde(default)]
    pub happened: bool,
    /// How long it then takes until that can be seen.
    #[serde(default)]
    pub appears_after_seconds: u64,
    /// What makes it end.
    pub ends: Ends,
}

/// What makes a trouble end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// It was met this often.
    Times(u32),
    /// So many seconds passed since it was first met.
    Seconds(u64),
    /// The agent takes this approach.
    Approach(String),
    /// The conversation is shortened.
    Compacted,
    /// A person decides this about it, and acts on it.
    Person(Decision),
    /// Nothing.
    Never,
}

/// A place where something can go wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
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
    /// Looking up whether an action happened, by its key.
    LookUp(String),
    /// Taking back what a person did not allow.
    TakeBack,
}

impl Place {
    /// As a fault names it.
    pub fn source(&self) -> String {
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

    fn named(name: &str) -> Option<Self> {
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

impl fmt::Display for Place {
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

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| {
            let known = "prepare, call, command, check, commit, take_back, act KEY or look_up KEY";
            de::Error::custom(format!("{name:?} is no place: it is {known}"))
        })
    }
}

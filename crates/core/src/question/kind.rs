//! The kinds of question and the decisions each offers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fault::Asks;

/// The kind of question to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Do something only a person can: renew a key, install a program, free disk space.
    Hands,
    /// Allow something.
    Ok,
    /// Decide how to continue.
    Choice,
    /// Say whether an action whose outcome is unknown happened.
    Happened,
    /// A bug in Unstuck: retry or skip.
    Ours,
    /// A limit was reached: continue or stop.
    Paused,
    /// A check fails as it did before the work: say whether that belongs to the work.
    RedBase,
    /// A transient failure has lasted long, or the process that runs the work was killed: retry or skip.
    Passing,
}

/// A person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// "I have fixed it, try again."
    ProvideCredentials,
    /// Skip this part.
    SkipFeature,
    /// Allow it once.
    AllowOnce,
    /// Allow it from now on.
    AlwaysAllow,
    /// Do not allow it.
    Deny,
    /// Continue with the guidance given.
    ProvideGuidance,
    /// Do a simpler version.
    SimplerVersion,
    /// The action happened.
    ItHappened,
    /// The action did not happen; do it again.
    ItDidNot,
    /// Skip the action.
    Skip,
    /// Retry: from where it stopped, or from a clean start after a bug in Unstuck.
    TryAgain,
    /// Continue as before.
    Continue,
    /// Raise the limit and continue.
    RaiseLimit,
    /// Stop here.
    Stop,
    /// The failure has nothing to do with the work.
    Unrelated,
    /// The failure belongs to the work.
    Belongs,
}

impl QuestionKind {
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::Hands,
        Self::Ok,
        Self::Choice,
        Self::Happened,
        Self::Ours,
        Self::Paused,
        Self::RedBase,
        Self::Passing,
    ];

    /// Returns all decisions that can be taken on such a question; the case decides which of them are
    /// offered.
    pub const fn decisions(self) -> &'static [Decision] {
        match self {
            Self::Hands => &[Decision::ProvideCredentials, Decision::SkipFeature],
            Self::Ok => &[
                Decision::AllowOnce,
                Decision::AlwaysAllow,
                Decision::Deny,
                Decision::ProvideGuidance,
            ],
            Self::Choice => &[
                Decision::ProvideGuidance,
                Decision::SimplerVersion,
                Decision::SkipFeature,
                Decision::TryAgain,
            ],
            Self::Happened => &[Decision::ItHappened, Decision::ItDidNot, Decision::Skip],
            Self::Ours | Self::Passing => &[Decision::TryAgain, Decision::SkipFeature],
            Self::Paused => &[Decision::Continue, Decision::RaiseLimit, Decision::Stop],
            Self::RedBase => &[Decision::Unrelated, Decision::Belongs, Decision::SkipFeature],
        }
    }

    /// Returns the kind of question that a code leads to, or `None` if no question is asked.
    pub const fn from_asks(asks: Asks) -> Option<Self> {
        match asks {
            Asks::NoQuestion => None,
            Asks::Hands => Some(Self::Hands),
            Asks::Ok => Some(Self::Ok),
            Asks::Choice => Some(Self::Choice),
            Asks::Ours => Some(Self::Ours),
            Asks::Paused => Some(Self::Paused),
            Asks::RedBase => Some(Self::RedBase),
        }
    }
}

impl Decision {
    /// All decisions.
    pub const ALL: &[Self] = &[
        Self::ProvideCredentials,
        Self::SkipFeature,
        Self::AllowOnce,
        Self::AlwaysAllow,
        Self::Deny,
        Self::ProvideGuidance,
        Self::SimplerVersion,
        Self::ItHappened,
        Self::ItDidNot,
        Self::Skip,
        Self::TryAgain,
        Self::Continue,
        Self::RaiseLimit,
        Self::Stop,
        Self::Unrelated,
        Self::Belongs,
    ];

    /// Returns the name used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProvideCredentials => "provide_credentials",
            Self::SkipFeature => "skip_feature",
            Self::AllowOnce => "allow_once",
            Self::AlwaysAllow => "always_allow",
            Self::Deny => "deny",
            Self::ProvideGuidance => "provide_guidance",
            Self::SimplerVersion => "simpler_version",
            Self::ItHappened => "it_happened",
            Self::ItDidNot => "it_did_not",
            Self::Skip => "skip",
            Self::TryAgain => "try_again",
            Self::Continue => "continue",
            Self::RaiseLimit => "raise_limit",
            Self::Stop => "stop",
            Self::Unrelated => "unrelated",
            Self::Belongs => "belongs",
        }
    }

    /// Returns whether the decision says how to do the work, and not only that it may continue.
    pub const fn is_about_the_approach(self) -> bool {
        matches!(self, Self::ProvideGuidance | Self::SimplerVersion)
    }

    /// Returns whether the decision asks for another approach than those that failed.
    pub const fn asks_for_another_way(self) -> bool {
        matches!(self, Self::SimplerVersion)
    }

    /// Returns whether the decision skips the work: the question then counts as skipped, not as resolved.
    pub const fn skips_work(self) -> bool {
        match self {
            Self::SkipFeature | Self::Skip | Self::Deny => true,
            Self::ProvideCredentials
            | Self::AllowOnce
            | Self::AlwaysAllow
            | Self::ProvideGuidance
            | Self::SimplerVersion
            | Self::ItHappened
            | Self::ItDidNot
            | Self::TryAgain
            | Self::Continue
            | Self::RaiseLimit
            | Self::Stop
            | Self::Unrelated
            | Self::Belongs => false,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is not a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a choice")]
pub struct UnknownDecision(pub String);

impl FromStr for Decision {
    type Err = UnknownDecision;

    fn from_str(word: &str) -> Result<Self, UnknownDecision> {
        Self::ALL
            .iter()
            .copied()
            .find(|decision| decision.as_str() == word)
            .ok_or_else(|| UnknownDecision(word.to_owned()))
    }
}

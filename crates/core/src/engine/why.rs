//! The reason for a decision: the rule, and the counters that led to it.

use serde::{Deserialize, Serialize};

use crate::fault::{Charge, Code};

/// The reason for one decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// The rule that was applied.
    pub rule: Rule,
    /// The code that the decision was about, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<Code>,
    /// The counters that were considered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub counts: Vec<Count>,
}

/// The value of a counter at a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// The counter.
    pub counter: Charge,
    /// The value.
    pub at: u32,
    /// The limit of the counter.
    pub limit: u32,
}

impl Why {
    /// Creates a reason without a code and counters.
    pub const fn from_rule(rule: Rule) -> Self {
        Self { rule, code: None, counts: Vec::new() }
    }

    /// Creates a reason that is about a code.
    pub const fn with_code(rule: Rule, code: Code) -> Self {
        Self { rule, code: Some(code), counts: Vec::new() }
    }

    /// Adds a counter that led to the decision.
    #[must_use]
    pub fn with_count(mut self, counter: Charge, at: u32, limit: u32) -> Self {
        self.counts.push(Count { counter, at, limit });
        self
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The rules that decisions follow.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum Rule { $($(#[doc = $doc])+ $name,)+ }

        impl Rule {
            /// Returns the rule in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

// The doc comments below are program output: `Rule::sentence` returns them.
rules! {
    /// It passes by itself, so the same operation is repeated after a wait.
    PassesByItself,
    /// All work on one account waits together when the account is limited.
    SharedGate,
    /// A second failure of the service in a row closes the gate for everyone.
    SecondFailureClosesGate,
    /// One task tries the account first; the others follow in growing groups.
    OneProbesFirst,
    /// The conversation no longer fits, so it is shortened.
    ConversationShortened,
    /// The same error gets a limited number of different approaches.
    AnotherApproach,
    /// The agent changed nothing, so it is asked once to do the work or to say why none is needed.
    NothingChanged,
    /// The approach had already failed with this error, so nothing more is spent on it.
    ApproachRepeated,
    /// The approach had already failed; it is checked once more in case the check is unreliable.
    ConfirmOnce,
    /// The script broke, so an agent repairs it.
    RepairScript,
    /// A repair is only proposed: it is set up so, or an action of this firing was applied.
    ProposeOnly,
    /// A repair is ready, and a person decides whether it is used.
    RepairProposed,
    /// Trying again cannot help: a person is needed.
    NeverRetried,
    /// The tries for this error are used up.
    TriesUsedUp,
    /// The operation was repeated as often and as long as allowed.
    MaxRetriesExceeded,
    /// The next firing has come, so it tries instead.
    NextFiringTries,
    /// The job has failed for so many firings or so long that a person is told; it goes on trying.
    KeepsFailing,
    /// The wait took longer than allowed.
    WaitedTooLong,
    /// Too many faults in a row, whatever they were.
    TooManyInARow,
    /// The repairs of this job are used up.
    RepairBudgetExhausted,
    /// The run ended without a word several times in a row.
    CrashedTooOften,
    /// A git operation is repeated once at once.
    RepeatedAtOnce,
    /// The work goes on without it, with a warning.
    GoesOnWithWarning,
    /// The outcome of an action is unknown, so it is looked up before anything else.
    ProbeFirst,
    /// It is unknown whether the action happened, so a person is asked.
    CannotTell,
    /// The settings cannot work, so it fails at once.
    SettingsCannotWork,
    /// The day's budget is spent; work goes on in the next window.
    SleepUntilNextWindow,
    /// The budget is spent, so a person is asked.
    BudgetSpent,
    /// So many questions are open that the build pauses.
    TooManyQuestions,
    /// Enough questions were answered, so the build goes on.
    QuestionsAnswered,
    /// The process ended while this ran; it goes on where it stood.
    RecoveredAfterCrash,
    /// The process had ended in order; the next one goes on.
    TakenUpAgain,
    /// A person decided it.
    PersonDecided,
    /// A person asked for it.
    PersonAsked,
    /// It needs something that was left out.
    NeedsWhatWasLeftOut,
    /// The build's branch had moved on, so the work is checked again on its new head.
    HeadMoved,
    /// The wait is over.
    WaitOver,
    /// The error did not come back before the work was checked, so its tries are given back.
    Recovered,
}

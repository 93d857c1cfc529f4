//! Why a question is asked now and not before.

use serde::{Deserialize, Serialize};

use crate::fault::BudgetSpan;
use crate::time::Span;

/// The rule that led to a question, with the numbers it really saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Trying again cannot help, so it is asked at once.
    FirstOccurrence,
    /// Every approach for this error failed.
    AttemptsUsedUp {
        /// Failures that were counted, the first one among them.
        tried: u32,
        /// How many different approaches were among them.
        ways: u32,
    },
    /// Repeating the same operation did not help.
    MaxRetriesExceeded {
        /// Repetitions that really ran, without the first try.
        retries: u32,
    },
    /// Waiting did not help.
    WaitedTooLong {
        /// How long the wait was.
        span: Span,
    },
    /// The job was repaired as often as allowed.
    RepairBudgetExhausted {
        /// Repairs that really ran.
        repairs: u32,
    },
    /// A repair of the job is ready, and a person decides whether it is used.
    RepairProposed,
    /// Shortening the conversation did not help.
    ShortenedTooOften {
        /// How often it was shortened.
        times: u32,
    },
    /// The one repetition that makes sense did not help.
    RetriedOnce,
    /// Many different errors in a row within one task.
    TooManyDifferentErrors,
    /// What runs the work was killed several times in a row.
    TooManyCrashes {
        /// How often.
        times: u32,
    },
    /// A job keeps failing for a passing reason, and goes on trying.
    KeepsFailing {
        /// Firings in a row that gave up.
        firings: u32,
        /// How long it has been failing.
        span: Span,
    },
    /// Too many questions are open at once.
    TooManyQuestions {
        /// How many are open.
        open: u32,
    },
    /// A budget has no room for the next step.
    BudgetSpent {
        /// What the budget covers.
        span: BudgetSpan,
    },
    /// Nobody can tell whether an action happened.
    OutcomeUnknown,
    /// The agent itself asked.
    AgentAsked,
}

impl Reason {
    /// Whether it stops the whole build, not single tasks.
    pub(super) fn holds_build(self) -> bool {
        match self {
            Self::TooManyQuestions { .. } => true,
            Self::BudgetSpent { span } => span != BudgetSpan::Task,
            _ => false,
        }
    }

    /// Whether the same trouble was met more than once before it was asked.
    pub(super) const fn is_repeated(self) -> bool {
        match self {
            Self::AttemptsUsedUp { tried, .. } => tried > 1,
            Self::RepairBudgetExhausted { repairs } => repairs > 0,
            Self::MaxRetriesExceeded { .. }
            | Self::WaitedTooLong { .. }
            | Self::ShortenedTooOften { .. }
            | Self::RetriedOnce
            | Self::TooManyCrashes { .. }
            | Self::KeepsFailing { .. } => true,
            Self::FirstOccurrence
            | Self::RepairProposed
            | Self::TooManyDifferentErrors
            | Self::TooManyQuestions { .. }
            | Self::BudgetSpent { .. }
            | Self::OutcomeUnknown
            | Self::AgentAsked => false,
        }
    }

    /// The reason in an operator's words.
    pub fn operator(self) -> String {
        match self {
            Self::FirstOccurrence => "Not retryable".to_owned(),
            Self::AttemptsUsedUp { tried, .. } => format!("Attempts used up ({tried})"),
            Self::MaxRetriesExceeded { retries } => format!("Max retries exceeded ({retries})"),
            Self::WaitedTooLong { span } => format!("Wait budget exhausted ({span})"),
            Self::RepairBudgetExhausted { repairs: 0 } => "Nothing repairs it".to_owned(),
            Self::RepairBudgetExhausted { repairs } => {
                format!("Repair budget exhausted ({repairs})")
            }
            Self::RepairProposed => "A repair is proposed".to_owned(),
            Self::ShortenedTooOften { times } => format!("Compaction budget exhausted ({times})"),
            Self::RetriedOnce => "The one retry failed".to_owned(),
            Self::TooManyDifferentErrors => "Too many consecutive faults".to_owned(),
            Self::TooManyCrashes { times } => format!("Killed {times} times in a row"),
            Self::KeepsFailing { firings, span } => {
                format!("Failing for {span}, {firings} firings in a row")
            }
            Self::TooManyQuestions { open } => format!("Too many open questions ({open})"),
            Self::BudgetSpent { span } => match span {
                BudgetSpan::Task => "No room in the task budget".to_owned(),
                BudgetSpan::Build => "No room in the build budget".to_owned(),
                BudgetSpan::Day => "No room in the daily budget".to_owned(),
            },
            Self::OutcomeUnknown => "Outcome of a mutation is unknown".to_owned(),
            Self::AgentAsked => "The agent asked".to_owned(),
        }
    }
}

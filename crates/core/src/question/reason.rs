//! The reason for asking a question at this moment.

use serde::{Deserialize, Serialize};

use crate::fault::BudgetSpan;
use crate::time::Span;

/// The rule that led to a question, with the numbers it observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A retry cannot help, so the question is asked immediately.
    FirstOccurrence,
    /// Every approach for this error failed.
    AttemptsUsedUp {
        /// Number of counted failures, the first one included.
        tried: u32,
        /// Number of different approaches among them.
        ways: u32,
    },
    /// Repeating the same operation did not help.
    MaxRetriesExceeded {
        /// Number of repetitions that actually ran, without the first try.
        retries: u32,
    },
    /// Waiting did not help.
    WaitedTooLong {
        /// The duration of the wait.
        span: Span,
    },
    /// The job was repaired as often as allowed.
    RepairBudgetExhausted {
        /// Number of repairs that actually ran.
        repairs: u32,
    },
    /// A repair of the job is ready, and a person decides whether it is used.
    RepairProposed,
    /// Shortening the conversation did not help.
    ShortenedTooOften {
        /// Number of compactions.
        times: u32,
    },
    /// The single useful repetition did not help.
    RetriedOnce,
    /// Many different errors in a row within one task.
    TooManyDifferentErrors,
    /// The process that runs the work was killed several times in a row.
    TooManyCrashes {
        /// Number of crashes.
        times: u32,
    },
    /// A job keeps failing for a transient reason, and continues to retry.
    KeepsFailing {
        /// Number of consecutive firings that gave up.
        firings: u32,
        /// The time it has been failing.
        span: Span,
    },
    /// Too many questions are open at once.
    TooManyQuestions {
        /// Number of open questions.
        open: u32,
    },
    /// A budget has no room for the next step.
    BudgetSpent {
        /// The span that the budget covers.
        span: BudgetSpan,
    },
    /// The outcome of an action cannot be determined.
    OutcomeUnknown,
    /// The agent itself asked.
    AgentAsked,
}

impl Reason {
    /// Returns whether the reason stops the whole build, not single tasks.
    pub(super) fn holds_build(self) -> bool {
        match self {
            Self::TooManyQuestions { .. } => true,
            Self::BudgetSpent { span } => span != BudgetSpan::Task,
            _ => false,
        }
    }

    /// Returns whether the same fault occurred more than once before the question.
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

    /// Returns the reason in an operator's words.
    pub fn to_operator_text(self) -> String {
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

//! Questions as the engine keeps them: their subject, their reason and the tasks that wait. The
//! texts are composed elsewhere.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{BuildId, MutationId, QuestionId, TaskId};
use super::why::Why;
use crate::attempt::Approach;
use crate::fault::{BudgetSpan, Code, Fault, Kind};
use crate::question::QuestionKind;
use crate::signature::Signature;
use crate::time::Time;

/// The subject of a question. There is never more than one open question about a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "about", content = "id", rename_all = "snake_case")]
pub enum Subject {
    /// An error, wherever it shows up.
    Error(Signature),
    /// An action whose outcome cannot be determined.
    Action(MutationId),
    /// A paused build.
    Build(BuildId),
    /// A job that keeps failing for a transient reason and keeps trying.
    Job(TaskId),
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The question's id.
    pub id: QuestionId,
    /// The subject of the question.
    pub subject: Subject,
    /// The kind of decision that the operator is asked for.
    pub kind: QuestionKind,
    /// The fault that led to the question, if any.
    pub fault: Option<Arc<Fault>>,
    /// The rule and the counters that led to the question.
    pub why: Why,
    /// The attempts that failed before, oldest first.
    pub attempts: Vec<Tried>,
    /// The tasks that wait for the answer; for a job that keeps trying, the job itself.
    pub tasks: Vec<TaskId>,
    /// Time at which the question was asked.
    pub asked_at: Time,
    /// The facts about the action, if the question is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Box<ActionFacts>>,
}

/// The facts about an action whose outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionFacts {
    /// The action's idempotency key.
    pub key: String,
    /// The command or request in one line, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Time at which the action was sent.
    pub sent_at: Time,
    /// The response; `None` if the process that sent the call was gone before a response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<Arc<str>>,
    /// The command or address that probes the action. Without one it cannot be checked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// Output of the latest probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_said: Option<Arc<str>>,
    /// Time of the latest probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed_at: Option<Time>,
    /// The place where the action would show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_at: Option<String>,
}

impl Question {
    /// Returns the code of the fault that led to the question, if any.
    pub fn code(&self) -> Option<Code> {
        self.fault.as_ref().map(|fault| fault.code())
    }

    /// Returns whether the question is about the budget of a day.
    pub(super) fn is_about_day(&self) -> bool {
        let kind = self.fault.as_deref().map(|fault| &fault.kind);
        matches!(kind, Some(Kind::BudgetExhausted(of)) if of.span == BudgetSpan::Day)
    }
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// The approach of the attempt.
    pub approach: Arc<Approach>,
    /// The code of the fault that it failed with.
    pub code: Code,
}

/// The end of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// The operator answered, and the work continues.
    Resolved,
    /// The operator decided to skip the work.
    Skipped,
    /// The answer is no longer needed.
    Withdrawn,
}

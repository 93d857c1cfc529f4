//! Questions as the engine keeps them: who waits for what, and why. Texts are made elsewhere.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{BuildId, MutationId, QuestionId, TaskId};
use super::why::Why;
use crate::attempt::Approach;
use crate::fault::{Code, Fault};
use crate::question::QuestionKind;
use crate::signature::Signature;
use crate::time::Time;

/// What a question is about. There is never more than one open question about one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "about", content = "id", rename_all = "snake_case")]
pub enum Subject {
    /// One error, wherever it shows up.
    Error(Signature),
    /// One action whose outcome nobody knows.
    Action(MutationId),
    /// One build that stands still.
    Build(BuildId),
    /// One job that keeps failing for a passing reason, and goes on trying.
    Job(TaskId),
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// What it is about.
    pub subject: Subject,
    /// What is asked of a person.
    pub kind: QuestionKind,
    /// The fault that led to it, where one did.
    pub fault: Option<Arc<Fault>>,
    /// The rule and the counters that led to it.
    pub why: Why,
    /// What was tried before, oldest first.
    pub attempts: Vec<Tried>,
    /// The tasks that wait for the answer; the job it is about where that goes on trying.
    pub tasks: Vec<TaskId>,
    /// When it was asked.
    pub asked_at: Time,
    /// What is known of the action that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Box<ActionFacts>>,
}

/// What is known of an action of which it is not known whether it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionFacts {
    /// Its key.
    pub key: String,
    /// The command or request in one line, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When it was sent.
    pub sent_at: Time,
    /// What came back; nothing where the process that sent it was gone before anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_back: Option<Arc<str>>,
    /// The command or address that looks it up. Without one it cannot be checked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// What the latest look-up said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_said: Option<Arc<str>>,
    /// When it was last looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed_at: Option<Time>,
    /// The place where it would show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_at: Option<String>,
}

impl Question {
    /// The code it is about, where there is one.
    pub fn code(&self) -> Option<Code> {
        self.fault.as_ref().map(|fault| fault.code())
    }
}

/// One attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// What it did.
    pub approach: Arc<Approach>,
    /// How it failed.
    pub code: Code,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// A person answered, and the work goes on.
    Resolved,
    /// A person decided to leave it out.
    Skipped,
    /// Nobody needs the answer any more.
    Withdrawn,
}

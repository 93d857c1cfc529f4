//! Questions with their texts, kept as the person read them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{
    BuildId, Question, QuestionEnd, QuestionId, State, Subject, TaskId, Why,
};
use unstuck_core::fault::{Category, Code, ErrorType};
use unstuck_core::question::{Decision, Evidence, QuestionKind, QuestionText};
use unstuck_core::tell;
use unstuck_core::time::Time;

/// A question with its evidence. The raw error and the operator's text are for operators only; the public
/// text never falls back to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionRow {
    /// The id of the question.
    pub id: QuestionId,
    /// The project it belongs to.
    pub project: String,
    /// The build it came up in.
    pub build: Option<BuildId>,
    /// The tasks that wait for the answer.
    pub tasks: Vec<TaskId>,
    /// The subject as a key; there is at most one open question per subject.
    pub signature: String,
    /// The code of the fault.
    pub code: Option<Code>,
    /// The category of the fault.
    #[serde(default)]
    pub category: Option<Category>,
    /// The type of that code.
    pub error_type: Option<ErrorType>,
    /// The kind of question.
    pub kind: QuestionKind,
    /// The public text and the options.
    #[serde(flatten)]
    pub text: QuestionText,
    /// The evidence: the command, its output, the attempts and the change.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// The operator's text beside it.
    pub operator_text: String,
    /// The error's own message, redacted.
    pub raw_error: String,
    /// The rule and the counters that led to it.
    pub why: Why,
    /// The status of the question.
    pub status: QuestionStatus,
    /// The person's decision.
    pub decision: Option<Decision>,
    /// The person's words.
    pub guidance: Option<Arc<str>>,
    /// The person who answered.
    pub answered_by: Option<Arc<str>>,
    /// The time of the question.
    pub created_at: Time,
    /// The time of its end.
    pub resolved_at: Option<Time>,
}

/// The status of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    /// Not answered. An answer that was not taken up yet does not count.
    #[default]
    Pending,
    /// Answered, and the work continues.
    Resolved,
    /// Answered with a decision to skip.
    Skipped,
    /// The answer is no longer needed.
    Withdrawn,
}

/// A batch's change of a question; fields that are not set stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChange {
    /// The id of the question.
    pub id: QuestionId,
    /// The whole row, if it was asked or its text changed because another task joined or other work no longer
    /// continues.
    pub asked: Option<Box<QuestionRow>>,
    /// The end of the question, if it ended.
    pub ended: Option<QuestionEnding>,
}

/// The end of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionEnding {
    /// The new status.
    pub status: QuestionStatus,
    /// The decision; `None` if the question was withdrawn.
    pub decision: Option<Decision>,
    /// The person's words.
    pub guidance: Option<Arc<str>>,
    /// The person who answered.
    pub by: Option<Arc<str>>,
    /// The time of the end.
    pub at: Time,
}

impl QuestionRow {
    /// Returns whether the question is about a job that keeps its schedule, so that nothing waits for the answer.
    pub fn holds_nothing(&self) -> bool {
        self.signature.starts_with(&format!("{}:job:", self.project))
    }

    /// Returns whether the outcome that a person is asked about can be probed again.
    pub fn can_check(&self) -> bool {
        let action = self.evidence.action.as_ref();
        self.kind == QuestionKind::Happened && action.is_none_or(|of| of.probe.is_some())
    }

    /// Returns whether a decision is among the options.
    pub fn offers_decision(&self, decision: Decision) -> bool {
        self.text.options.iter().any(|option| option.value == decision)
    }

    pub(super) fn from_question(state: &State, question: &Question, at: Time) -> Self {
        let text = tell::question_text(state, question, at);
        let build = match question.subject {
            Subject::Build(build) => Some(build),
            Subject::Error(_) | Subject::Action(_) | Subject::Job(_) => {
                question.tasks.first().and_then(|task| state.task(*task)).map(|task| task.build)
            }
        };
        Self {
            id: question.id,
            project: state.project().to_owned(),
            build,
            tasks: question.tasks.clone(),
            signature: subject_key(state, question.subject),
            code: question.code(),
            category: question.code().map(|code| code.row().category),
            error_type: question.code().map(|code| code.row().error_type),
            kind: question.kind,
            text,
            evidence: tell::collect_evidence(state, question),
            operator_text: tell::operator_text(state, question, at),
            raw_error: question.fault.as_ref().map(|f| f.message.clone()).unwrap_or_default(),
            why: question.why.clone(),
            status: QuestionStatus::Pending,
            decision: None,
            guidance: None,
            answered_by: None,
            created_at: question.asked_at,
            resolved_at: None,
        }
    }
}

fn subject_key(state: &State, subject: Subject) -> String {
    let project = state.project();
    match subject {
        Subject::Error(signature) => signature.key(project),
        Subject::Build(build) => format!("{project}:build:{build}"),
        Subject::Job(task) => format!("{project}:job:{task}"),
        Subject::Action(id) => {
            let name = state.mutation(id).map_or("", |mutation| mutation.spec.key.as_str());
            format!("{project}:mutation:{name}")
        }
    }
}

impl From<QuestionEnd> for QuestionStatus {
    fn from(end: QuestionEnd) -> Self {
        match end {
            QuestionEnd::Resolved => Self::Resolved,
            QuestionEnd::Skipped => Self::Skipped,
            QuestionEnd::Withdrawn => Self::Withdrawn,
        }
    }
}

//! Questions, with their words: what a person read is kept as they read it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{
    BuildId, Question, QuestionEnd, QuestionId, State, Subject, TaskId, Why,
};
use unstuck_core::fault::{Category, Code, ErrorType};
use unstuck_core::question::{Decision, Evidence, QuestionKind, QuestionText};
use unstuck_core::tell;
use unstuck_core::time::Time;

/// A question, with its evidence. The raw error and the operator's text are for operators only; the
/// public words never fall back to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionRow {
    /// Its id.
    pub id: QuestionId,
    /// The project it belongs to.
    pub project: String,
    /// The build it came up in.
    pub build: Option<BuildId>,
    /// The tasks that wait for the answer.
    pub tasks: Vec<TaskId>,
    /// What it is about, as a key: there is one open question for each.
    pub signature: String,
    /// The code it is about.
    pub code: Option<Code>,
    /// Where such faults come from.
    #[serde(default)]
    pub category: Option<Category>,
    /// The type of that code.
    pub error_type: Option<ErrorType>,
    /// What is asked of a person.
    pub kind: QuestionKind,
    /// The public words and the choices.
    #[serde(flatten)]
    pub text: QuestionText,
    /// What it rests on: the command, its output, what was tried and changed.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// What an operator reads beside it.
    pub operator_text: String,
    /// The error in its own words, redacted.
    pub raw_error: String,
    /// The rule and the counters that led to it.
    pub why: Why,
    /// Where it stands.
    pub status: QuestionStatus,
    /// What a person chose.
    pub decision: Option<Decision>,
    /// What they said.
    pub guidance: Option<Arc<str>>,
    /// Who they are.
    pub answered_by: Option<Arc<str>>,
    /// When it was asked.
    pub created_at: Time,
    /// When it ended.
    pub resolved_at: Option<Time>,
}

/// Where a question stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    /// Nobody has answered. An answer that waits to be taken up counts as none yet.
    #[default]
    Pending,
    /// Answered, and the work goes on.
    Resolved,
    /// Answered: left out.
    Skipped,
    /// Nobody needs the answer any more.
    Withdrawn,
}

/// What a batch changes about a question: what is not set stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChange {
    /// Which one.
    pub id: QuestionId,
    /// It was asked, or its words changed, because another task joined or other work no longer goes
    /// on: the whole row.
    pub asked: Option<Box<QuestionRow>>,
    /// It ended.
    pub ended: Option<QuestionEnding>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionEnding {
    /// Where it stands now.
    pub status: QuestionStatus,
    /// What was chosen, unless nobody needed to.
    pub decision: Option<Decision>,
    /// What they said.
    pub guidance: Option<Arc<str>>,
    /// Who.
    pub by: Option<Arc<str>>,
    /// When.
    pub at: Time,
}

impl QuestionRow {
    /// Whether it can be looked up again what a person is asked: something says how.
    pub fn can_check(&self) -> bool {
        let action = self.evidence.action.as_ref();
        self.kind == QuestionKind::Happened && action.is_none_or(|of| of.probe.is_some())
    }

    /// Whether a person can choose this.
    pub fn offers(&self, decision: Decision) -> bool {
        self.text.options.iter().any(|option| option.value == decision)
    }

    pub(super) fn of(state: &State, question: &Question, at: Time) -> Self {
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
            signature: key(state, question.subject),
            code: question.code(),
            category: question.code().map(|code| code.row().category),
            error_type: question.code().map(|code| code.row().error_type),
            kind: question.kind,
            text,
            evidence: tell::evidence(state, question),
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

fn key(state: &State, subject: Subject) -> String {
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

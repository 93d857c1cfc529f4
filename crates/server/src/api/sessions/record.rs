//! The record of a session, as it is shown, with the direction of its runtime: what it is to do now.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::plan::MutationKind;
use unstuck_core::tell::{SessionDecision, SessionDirection};
use unstuck_core::time::Time;
use unstuck_runner::{StateQuery, StateQueryResult};
use unstuck_store::tables::{MutationStatus, TaskRow};

use crate::api::builds::load_build;
use crate::api::questions::{Asked, load_asked};
use crate::api::resolve;
use crate::problem::Problem;
use crate::project_host::ProjectHostError;
use crate::server_state::HostedProject;

/// The record of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(super) struct SessionRecord {
    /// The id, which is that of its build.
    id: BuildId,
    /// The project.
    project: String,
    /// The title that people read.
    title: String,
    /// The goal.
    goal: String,
    /// The time at which it was opened.
    opened_at: Time,
    /// The time at which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    /// The state of its task.
    #[serde(flatten)]
    state: TaskState,
    /// The direction of its runtime.
    direction: ApiSessionDirection,
    /// The irreversible actions, oldest first.
    mutations: Vec<ActionRecord>,
}

/// An irreversible action of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionMutation")]
struct ActionRecord {
    /// The key of the action.
    key: String,
    /// The kind of action.
    kind: MutationKind,
    /// The status of the action.
    status: MutationStatus,
}

pub(super) struct ApiSessionTask {
    pub(super) task: TaskRow,
}

impl ApiSessionTask {
    pub(super) async fn find_by_name(
        hosted: &HostedProject,
        session: &str,
    ) -> Result<Self, Problem> {
        Self::find_by_id(hosted, BuildId(resolve::parse_number("session", 'b', session)?)).await
    }

    pub(super) async fn find_by_id(hosted: &HostedProject, id: BuildId) -> Result<Self, Problem> {
        let tasks = hosted.store.load_build_tasks(&hosted.name, id).await?;
        let task = tasks.into_iter().find(|task| task.spec.session.is_some());
        Ok(Self { task: task.ok_or_else(|| Problem::not_found("session", id))? })
    }

    pub(super) async fn into_record(
        self,
        hosted: &HostedProject,
    ) -> Result<SessionRecord, Problem> {
        let Self { task } = self;
        let build = load_build(hosted, task.build).await?;
        let direction = ApiSessionDirection::load_for_task(hosted, &task).await?;
        let actions = hosted.store.load_task_mutations(&hosted.name, task.id).await?;
        let mutations = actions.into_iter().map(|row| ActionRecord {
            key: row.spec.key.clone(),
            kind: row.spec.kind,
            status: row.status,
        });
        Ok(SessionRecord {
            id: build.id,
            project: hosted.name.to_string(),
            title: task.spec.title.clone(),
            goal: task.spec.goal.clone(),
            opened_at: build.started_at,
            ended_at: build.ended_at,
            state: task.moved.state,
            direction,
            mutations: mutations.collect(),
        })
    }
}

impl SessionRecord {
    pub(super) const fn id(&self) -> BuildId {
        self.id
    }

    /// Returns the record if the goal was reached, otherwise a problem that says why success cannot
    /// be reported now.
    pub(super) fn require_done(self) -> Result<Self, Problem> {
        if self.state == TaskState::Done {
            return Ok(self);
        }
        let stands = self.state.kind().as_str();
        let detail =
            format!("session {} is {stands}: its success is no longer waited for", self.id);
        let hint = format!("`GET /api/v1/sessions/{}?wait=55` says when it goes on", self.id);
        Err(Problem::new(StatusCode::CONFLICT, detail).with_hint(hint))
    }
}

/// The direction of a runtime, and the data it needs for that.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionDirection")]
pub(super) struct ApiSessionDirection {
    /// `retry`: the runtime may work. `wait`: not before `until`. `ask`: not before a person has
    /// answered `question`. `stop`: no more.
    pub(super) decision: SessionDecision,
    /// Number of times that this error occurred, including the last; 0 if nothing has failed.
    pub(super) attempt: u32,
    /// Number of attempts before a person is asked.
    pub(super) of: u32,
    /// The code of the last failure.
    pub(super) code: Option<Code>,
    /// The time at which the session continues by itself, in milliseconds since the Unix epoch;
    /// absent if it is not known.
    pub(super) until: Option<Time>,
    /// The question that a person has to answer.
    pub(super) question: Option<Asked>,
    /// Text for the agent to read first: a person's guidance, the last failure, and the need for
    /// another approach.
    pub(super) context: Option<String>,
}

impl ApiSessionDirection {
    pub(super) async fn load_for_task(
        hosted: &HostedProject,
        task: &TaskRow,
    ) -> Result<Self, Problem> {
        let policy = Box::new((*hosted.host.policy()).clone());
        let looked = hosted.host.look_up(StateQuery::Session { task: task.id, policy }).await?;
        let told = match looked {
            StateQueryResult::Session(Some(told)) => told,
            StateQueryResult::Session(None) => return Ok(Self::for_ended_task(task)),
            _ => return Err(ProjectHostError::unexpected_result("a session").into()),
        };
        let SessionDirection { decision, attempt, of, code, until, question, context } = *told;
        let question = match question {
            Some(id) => load_asked(hosted.store.as_ref(), &hosted.name, id).await?,
            None => None,
        };
        Ok(Self { decision, attempt, of, code, until, question, context })
    }

    /// Returns the direction of a session that is over: the engine no longer has it, the store
    /// does.
    fn for_ended_task(task: &TaskRow) -> Self {
        Self {
            decision: SessionDecision::Stop,
            attempt: 0,
            of: 0,
            code: task.moved.failure.as_ref().map(|failure| failure.code()),
            until: None,
            question: None,
            context: None,
        }
    }

    /// Returns whether the runtime may work, or has to stop.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self.decision, SessionDecision::Retry | SessionDecision::Stop)
    }
}

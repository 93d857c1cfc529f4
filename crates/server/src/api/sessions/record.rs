//! A session as it is shown.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::engine::{BuildId, TaskState};
use unstuck_core::plan::MutationKind;
use unstuck_core::time::Time;
use unstuck_store::tables::{MutationStatus, TaskRow};

use super::directed::Directed;
use crate::api::builds::build_of;
use crate::api::which;
use crate::problem::Problem;
use crate::site::Room;

/// A session as it stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(super) struct SessionRecord {
    /// Its number, which is that of its build.
    id: BuildId,
    /// The project.
    project: String,
    /// What people call it.
    title: String,
    /// What is to be reached.
    goal: String,
    /// When it was opened.
    opened_at: Time,
    /// When it came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    /// Where it stands, as its task does.
    #[serde(flatten)]
    state: TaskState,
    /// What its runtime is to do now.
    direction: Directed,
    /// Its irreversible actions, oldest first.
    mutations: Vec<ActionRecord>,
}

/// An irreversible action of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionMutation")]
struct ActionRecord {
    /// Its key.
    key: String,
    /// What kind of action it is.
    kind: MutationKind,
    /// Where it stands.
    status: MutationStatus,
}

/// A session that was found.
pub(super) struct Found {
    pub(super) task: TaskRow,
}

impl Found {
    /// The session that is meant.
    pub(super) async fn named(room: &Room, session: &str) -> Result<Self, Problem> {
        Self::numbered(room, BuildId(which::number("session", 'b', session)?)).await
    }

    pub(super) async fn numbered(room: &Room, id: BuildId) -> Result<Self, Problem> {
        let tasks = room.store.tasks(&room.name, id).await?;
        let task = tasks.into_iter().find(|task| task.spec.session.is_some());
        Ok(Self { task: task.ok_or_else(|| Problem::unknown("session", id))? })
    }

    /// As it stands now.
    pub(super) async fn record(self, room: &Room) -> Result<SessionRecord, Problem> {
        let Self { task } = self;
        let build = build_of(room, task.build).await?;
        let direction = Directed::read(room, &task).await?;
        let actions = room.store.mutations(&room.name, task.id).await?;
        let mutations = actions.into_iter().map(|row| ActionRecord {
            key: row.spec.key.clone(),
            kind: row.spec.kind,
            status: row.status,
        });
        Ok(SessionRecord {
            id: build.id,
            project: room.name.to_string(),
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

    /// Whether its goal was reached; else why it cannot be said now.
    pub(super) fn done(self) -> Result<Self, Problem> {
        if self.state == TaskState::Done {
            return Ok(self);
        }
        let stands = self.state.standing().as_str();
        let detail =
            format!("session {} is {stands}: its success is no longer waited for", self.id);
        let hint = format!("`GET /api/v1/sessions/{}?wait=55` says when it goes on", self.id);
        Err(Problem::new(StatusCode::CONFLICT, detail).hint(hint))
    }
}

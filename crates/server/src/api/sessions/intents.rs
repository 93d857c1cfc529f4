//! Intents of irreversible actions: a runtime asks before it performs one.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::engine::{Command, MutationState, SessionReport, TaskId};
use unstuck_core::plan::{MutationKind, MutationSpec};
use unstuck_core::tell::SessionDecision;
use unstuck_core::time::{Span, Time};
use unstuck_runner::{Intent, StateQuery, StateQueryResult};

use super::record::{ApiSessionDirection, ApiSessionTask};
use crate::api::docs::{ApiOperation, ApiRouter};
use crate::api::questions::Asked;
use crate::api::request::{ApiJsonBody, digest_content};
use crate::api::resolve::{ApiProjectQuery, ApiProjectRequest};
use crate::problem::Problem;
use crate::project_host::ProjectHostError;
use crate::server_state::HostedProject;

const KEY_CHARS_MAX: usize = 200;
/// Wait before asking again about an action that another session performs.
const SHARED_ACTION_AGAIN: Span = Span::from_secs(15);

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    api.add_operation(
        ApiOperation::post(
            "/api/v1/sessions/{session}/mutations",
            "intendMutation",
            "May this irreversible action be performed?",
        )
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionMutationIntent>()
        .with_response::<SessionMutationPermit>(
            200,
            "Whether, and what came of it where it was performed before.",
        )
        .with_problem(StatusCode::NOT_FOUND, "There is no such session.")
        .with_problem(StatusCode::CONFLICT, "The key was used for an action with other arguments.")
        .with_problem(StatusCode::UNPROCESSABLE_ENTITY, "It does not say which action it is."),
        post(intend_mutation),
    )
}

/// An irreversible action that is about to be performed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MutationIntent")]
struct SessionMutationIntent {
    /// The idempotency key: the same key is never performed twice. Up to 200 characters.
    key: String,
    /// The kind of action.
    #[serde(default)]
    kind: SessionMutationKind,
    /// The arguments: the same key with other ones is refused. They are not stored.
    #[serde(default)]
    arguments: Option<Value>,
    /// A digest in place of the arguments, which is the same for equal ones.
    #[serde(default)]
    digest: Option<String>,
    /// The scope in which the key is unique.
    #[serde(default)]
    scope: SessionMutationScope,
}

/// The kind of action.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SessionMutationKind")]
enum SessionMutationKind {
    /// A call to a service.
    #[default]
    Http,
    /// A command.
    Command,
}

/// The scope in which a key is unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MutationKeyScope")]
enum SessionMutationScope {
    /// Unique within this session.
    #[default]
    Session,
    /// Unique within the project, permanently.
    Project,
}

/// The permission for an action.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MutationPermit")]
struct SessionMutationPermit {
    /// The decision about the action.
    decision: SessionMutationDecision,
    /// The key of the action.
    key: String,
    /// A key that is the same whenever this action is sent: pass it to the other side, which may
    /// recognize a repeated call by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    /// The result of the action when it was performed.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<str>>,
    /// The earliest time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Time>,
    /// The question that a person has to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Asked>,
}

/// The decision about an action.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MutationDecision")]
enum SessionMutationDecision {
    /// Perform the action now, once, and report its outcome.
    Proceed,
    /// The action was performed before; `result` is what came back. Do not perform it.
    Applied,
    /// A person decided to leave the action out. Do not perform it.
    Skipped,
    /// The action was sent before, and its outcome was not reported. Find out and report it;
    /// `unknown` asks a person.
    Unsettled,
    /// Not now; ask again later.
    Wait,
    /// Not before a person has answered.
    Ask,
    /// The session is over.
    Stop,
}

async fn intend_mutation(
    at: ApiProjectRequest,
    Path(session): Path<String>,
    ApiJsonBody(wanted): ApiJsonBody<SessionMutationIntent>,
) -> Result<Json<SessionMutationPermit>, Problem> {
    let spec = wanted.to_spec()?;
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let key = spec.key.clone();
    let mut taken = false;
    if !task.moved.state.has_ended() {
        let told = SessionReport::Intends { mutation: spec };
        match at.project.host.submit_command(Command::Report { task: task.id, told }).await {
            Ok(_) => taken = true,
            // The reason is determined below.
            Err(ProjectHostError::NotNow(_)) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    let found = find_intent(&at.project, task.id, &key).await?;
    let permit = SessionMutationPermit::new(key);
    let permit = match found {
        Some(Intent { state: MutationState::InFlight { .. }, idempotency_key, .. }) if taken => {
            SessionMutationPermit {
                idempotency_key: Some(idempotency_key),
                ..permit.with_decision(SessionMutationDecision::Proceed)
            }
        }
        Some(Intent { state: MutationState::Applied { result }, .. }) if taken => {
            SessionMutationPermit {
                result: Some(result),
                ..permit.with_decision(SessionMutationDecision::Applied)
            }
        }
        Some(Intent { state: MutationState::Skipped, .. }) if taken => {
            permit.with_decision(SessionMutationDecision::Skipped)
        }
        Some(Intent { state: MutationState::InFlight { .. }, own: true, idempotency_key }) => {
            SessionMutationPermit {
                idempotency_key: Some(idempotency_key),
                ..permit.with_decision(SessionMutationDecision::Unsettled)
            }
        }
        Some(Intent { state, own: false, .. }) if state.is_open() => {
            let until = at.site.clock.now() + SHARED_ACTION_AGAIN;
            SessionMutationPermit {
                until: Some(until),
                ..permit.with_decision(SessionMutationDecision::Wait)
            }
        }
        _ => permit.with_direction(ApiSessionDirection::load_for_task(&at.project, &task).await?),
    };
    Ok(Json(permit))
}

/// Returns the state of an action that the session sees.
pub(super) async fn find_intent(
    hosted: &HostedProject,
    task: TaskId,
    key: &str,
) -> Result<Option<Intent>, Problem> {
    match hosted.host.look_up(StateQuery::Intent { task, key: key.to_owned() }).await? {
        StateQueryResult::Intent(found) => Ok(found),
        _ => Err(ProjectHostError::unexpected_result("an action").into()),
    }
}

impl SessionMutationPermit {
    fn new(key: String) -> Self {
        Self {
            decision: SessionMutationDecision::Wait,
            key,
            idempotency_key: None,
            result: None,
            until: None,
            question: None,
        }
    }

    fn with_decision(self, decision: SessionMutationDecision) -> Self {
        Self { decision, ..self }
    }

    /// Sets the decision of a session that may not work now.
    fn with_direction(self, directed: ApiSessionDirection) -> Self {
        let ApiSessionDirection { decision, until, question, .. } = directed;
        let decision = match decision {
            SessionDecision::Retry | SessionDecision::Wait => SessionMutationDecision::Wait,
            SessionDecision::Ask => SessionMutationDecision::Ask,
            SessionDecision::Stop => SessionMutationDecision::Stop,
        };
        Self { decision, until, question, ..self }
    }
}

impl SessionMutationIntent {
    /// Returns the action as the ledger records it.
    fn to_spec(&self) -> Result<MutationSpec, Problem> {
        let wrong = |detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
        let key = self.key.trim();
        if key.is_empty() || key.chars().count() > KEY_CHARS_MAX || key.contains(char::is_control) {
            return Err(wrong("`key` is a text of 1 to 200 plain characters")
                .with_hint("name the thing that happens: `refund-1042`"));
        }
        let arguments = match (&self.arguments, &self.digest) {
            (Some(arguments), None) => digest_content("arguments", &(self.kind, arguments))?,
            (None, Some(text)) => digest_content("digest", &(self.kind, text))?,
            (None, None) | (Some(_), Some(_)) => {
                return Err(wrong("an action has `arguments`, or a `digest` of them")
                    .with_hint("the same key with other arguments is refused by them"));
            }
        };
        let kind = match self.kind {
            SessionMutationKind::Http => MutationKind::Http,
            SessionMutationKind::Command => MutationKind::Command,
        };
        let key = key.to_owned();
        let permanent = self.scope == SessionMutationScope::Project;
        Ok(MutationSpec { key, kind, arguments, permanent, ..MutationSpec::default() })
    }
}

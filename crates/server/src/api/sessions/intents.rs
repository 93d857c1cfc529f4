//! Intents of irreversible actions: a runtime asks before it performs one.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unstuck_core::engine::{Command, MutationState, TaskId, Told};
use unstuck_core::plan::{MutationKind, MutationSpec};
use unstuck_core::tell::Decision;
use unstuck_core::time::{Span, Time};
use unstuck_runner::{Intent, Look, Looked};

use super::directed::Directed;
use super::record::Found;
use crate::api::asked::Asked;
use crate::api::body::Body;
use crate::api::docs::{Api, Op};
use crate::api::request_key::digest;
use crate::api::which::{At, InProject};
use crate::desk::Refused;
use crate::problem::Problem;
use crate::site::Room;

/// Maximum length of a key, in characters.
const KEY_CHARS_MAX: usize = 200;
/// Wait before asking again about an action that another session performs.
const SHARED_ACTION_AGAIN: Span = Span::from_secs(15);

pub(super) fn routes(api: Api) -> Api {
    api.op(
        Op::post(
            "/api/v1/sessions/{session}/mutations",
            "intendMutation",
            "May this irreversible action be performed?",
        )
        .query::<InProject>()
        .body::<Wanted>()
        .gives::<Permit>(200, "Whether, and what came of it where it was performed before.")
        .problem(StatusCode::NOT_FOUND, "There is no such session.")
        .problem(StatusCode::CONFLICT, "The key was used for an action with other arguments.")
        .problem(StatusCode::UNPROCESSABLE_ENTITY, "It does not say which action it is."),
        post(intend),
    )
}

/// An irreversible action that is about to be performed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MutationIntent")]
struct Wanted {
    /// The idempotency key: the same key is never performed twice. Up to 200 characters.
    key: String,
    /// The kind of action.
    #[serde(default)]
    kind: Kind,
    /// The arguments: the same key with other ones is refused. They are not stored.
    #[serde(default)]
    arguments: Option<Value>,
    /// A digest in place of the arguments, which is the same for equal ones.
    #[serde(default)]
    digest: Option<String>,
    /// The scope in which the key is unique.
    #[serde(default)]
    scope: Scope,
}

/// The kind of action.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SessionMutationKind")]
enum Kind {
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
enum Scope {
    /// Unique within this session.
    #[default]
    Session,
    /// Unique within the project, permanently.
    Project,
}

/// The permission for an action.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MutationPermit")]
struct Permit {
    /// The decision about the action.
    decision: May,
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
enum May {
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

async fn intend(
    at: At,
    Path(session): Path<String>,
    Body(wanted): Body<Wanted>,
) -> Result<Json<Permit>, Problem> {
    let spec = wanted.spec()?;
    let Found { task } = Found::named(&at.room, &session).await?;
    let key = spec.key.clone();
    let mut taken = false;
    if !task.moved.state.has_ended() {
        let told = Told::Intends { mutation: spec };
        match at.room.desk.command(Command::Report { task: task.id, told }).await {
            Ok(_) => taken = true,
            // The reason is determined below.
            Err(Refused::NotNow(_)) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    let found = known(&at.room, task.id, &key).await?;
    let permit = Permit::new(key);
    let permit = match found {
        Some(Intent { state: MutationState::InFlight { .. }, idempotency_key, .. }) if taken => {
            Permit { idempotency_key: Some(idempotency_key), ..permit.may(May::Proceed) }
        }
        Some(Intent { state: MutationState::Applied { result }, .. }) if taken => {
            Permit { result: Some(result), ..permit.may(May::Applied) }
        }
        Some(Intent { state: MutationState::Skipped, .. }) if taken => permit.may(May::Skipped),
        Some(Intent { state: MutationState::InFlight { .. }, own: true, idempotency_key }) => {
            Permit { idempotency_key: Some(idempotency_key), ..permit.may(May::Unsettled) }
        }
        Some(Intent { state, own: false, .. }) if state.is_open() => {
            let until = at.site.clock.now() + SHARED_ACTION_AGAIN;
            Permit { until: Some(until), ..permit.may(May::Wait) }
        }
        _ => permit.directed(Directed::read(&at.room, &task).await?),
    };
    Ok(Json(permit))
}

/// Returns the state of an action that the session sees.
pub(super) async fn known(room: &Room, task: TaskId, key: &str) -> Result<Option<Intent>, Problem> {
    match room.desk.look(Look::Intent { task, key: key.to_owned() }).await? {
        Looked::Intent(found) => Ok(found),
        _ => Ok(None),
    }
}

impl Permit {
    fn new(key: String) -> Self {
        Self {
            decision: May::Wait,
            key,
            idempotency_key: None,
            result: None,
            until: None,
            question: None,
        }
    }

    fn may(self, decision: May) -> Self {
        Self { decision, ..self }
    }

    /// Sets the decision of a session that may not work now.
    fn directed(self, directed: Directed) -> Self {
        let Directed { decision, until, question, .. } = directed;
        let decision = match decision {
            Decision::Retry | Decision::Wait => May::Wait,
            Decision::Ask => May::Ask,
            Decision::Stop => May::Stop,
        };
        Self { decision, until, question, ..self }
    }
}

impl Wanted {
    /// Returns the action as the ledger records it.
    fn spec(&self) -> Result<MutationSpec, Problem> {
        let wrong = |detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
        let key = self.key.trim();
        if key.is_empty() || key.chars().count() > KEY_CHARS_MAX || key.contains(char::is_control) {
            return Err(wrong("`key` is a text of 1 to 200 plain characters")
                .hint("name the thing that happens: `refund-1042`"));
        }
        let arguments = match (&self.arguments, &self.digest) {
            (Some(arguments), None) => digest("arguments", &(self.kind, arguments)),
            (None, Some(text)) => digest("digest", &(self.kind, text)),
            (None, None) | (Some(_), Some(_)) => {
                return Err(wrong("an action has `arguments`, or a `digest` of them")
                    .hint("the same key with other arguments is refused by them"));
            }
        };
        let kind = match self.kind {
            Kind::Http => MutationKind::Http,
            Kind::Command => MutationKind::Command,
        };
        let key = key.to_owned();
        let permanent = self.scope == Scope::Project;
        Ok(MutationSpec { key, kind, arguments, permanent, ..MutationSpec::default() })
    }
}

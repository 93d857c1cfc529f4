//! Outcomes of a session's irreversible actions.

use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::StatusCode;
use axum::routing::patch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Command, EffectOutcome, MutationState, SessionReport};
use unstuck_core::fault::{Fault, Origin};
use unstuck_runner::RESULT_BYTES_MAX;

use super::intents::find_intent;
use super::record::{ApiSessionDirection, ApiSessionTask};
use crate::api::docs::{ApiOperation, ApiRouter};
use crate::api::request::ApiJsonBody;
use crate::api::resolve::{ApiProjectQuery, ApiProjectRequest};
use crate::problem::Problem;

/// Maximum size of a body, in bytes: a result may get longer when it is written as JSON.
const OUTCOME_BYTES_MAX: usize = 4 * RESULT_BYTES_MAX;
/// The source of such an outcome's fault.
const SOURCE: &str = "session";

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    api.add_operation(
        ApiOperation::patch(
            "/api/v1/sessions/{session}/mutations/{key}",
            "settleMutation",
            "What came of an irreversible action",
        )
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionMutationReport>()
        .with_response::<SessionMutationReceipt>(200, "It is recorded.")
        .with_problem(StatusCode::NOT_FOUND, "There is no such session, or no such action in it.")
        .with_problem(StatusCode::CONFLICT, "It was not sent, or settled with another outcome.")
        .with_problem(StatusCode::PAYLOAD_TOO_LARGE, "The result is longer than 1 MB."),
        patch(settle_mutation).layer(DefaultBodyLimit::max(OUTCOME_BYTES_MAX)),
    )
}

/// The outcome of an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MutationCameOf")]
struct SessionMutationReport {
    /// The way in which the action ended.
    outcome: SessionMutationOutcome,
    /// The result, up to 1 MB: a later request with the same key gets it.
    #[serde(default)]
    result: Option<String>,
    /// The error message.
    #[serde(default)]
    message: Option<String>,
}

/// The way in which an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MutationOutcome")]
enum SessionMutationOutcome {
    /// The action was performed.
    Applied,
    /// The action was certainly not performed, and may be performed again.
    Failed,
    /// The outcome is unknown. A person is asked, and the session waits for the answer.
    Unknown,
}

/// An outcome that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MutationSettled")]
struct SessionMutationReceipt {
    /// The action's key.
    key: String,
    /// The status of the action: `applied`, `not_applied`, `indeterminate`, `skipped`.
    status: &'static str,
    /// The direction of the session's runtime.
    #[serde(flatten)]
    direction: ApiSessionDirection,
}

async fn settle_mutation(
    at: ApiProjectRequest,
    Path((session, key)): Path<(String, String)>,
    ApiJsonBody(came): ApiJsonBody<SessionMutationReport>,
) -> Result<Json<SessionMutationReceipt>, Problem> {
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let unknown = || {
        Problem::not_found("action", format!("{key:?} in session {session}"))
            .with_hint(format!("say first that you are about to perform it: `POST /api/v1/sessions/{session}/mutations`"))
    };
    find_intent(&at.project, task.id, &key).await?.ok_or_else(unknown)?;
    let outcome = came.into_outcome(|text| at.project.host.redact_text(text))?;
    let told = SessionReport::Acted { key: key.clone(), outcome };
    at.project.host.submit_command(Command::Report { task: task.id, told }).await?;
    let status = find_intent(&at.project, task.id, &key)
        .await?
        .map_or("skipped", |known| state_name(&known.state));
    let direction = ApiSessionDirection::load_for_task(&at.project, &task).await?;
    Ok(Json(SessionMutationReceipt { key, status, direction }))
}

impl SessionMutationReport {
    fn into_outcome(self, redacted: impl Fn(&str) -> Arc<str>) -> Result<EffectOutcome, Problem> {
        let result = self.result.unwrap_or_default();
        if result.len() > RESULT_BYTES_MAX {
            let detail = format!("`result` is longer than {RESULT_BYTES_MAX} bytes");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
                .with_hint("keep it where you like, and send its address"));
        }
        let message = redacted(self.message.as_deref().unwrap_or("no more was said"));
        let fault = || Arc::new(Fault::from_unclassified(Origin::Connector, SOURCE, &*message, ""));
        Ok(match self.outcome {
            SessionMutationOutcome::Applied => EffectOutcome::Applied { result: Arc::from(result) },
            SessionMutationOutcome::Failed => {
                EffectOutcome::Failed { fault: fault(), approach: None }
            }
            SessionMutationOutcome::Unknown => EffectOutcome::Unknown { fault: fault() },
        })
    }
}

const fn state_name(state: &MutationState) -> &'static str {
    match state {
        MutationState::Intended => "intended",
        MutationState::InFlight { .. } => "in_flight",
        MutationState::Probing { .. } => "probing",
        MutationState::Settling { .. } => "settling",
        MutationState::Indeterminate => "indeterminate",
        MutationState::Applied { .. } => "applied",
        MutationState::NotApplied => "not_applied",
        MutationState::Skipped => "skipped",
    }
}

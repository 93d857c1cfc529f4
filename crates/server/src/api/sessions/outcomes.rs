//! Outcomes of a session's irreversible actions.

use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::StatusCode;
use axum::routing::patch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Command, MutationState, Outcome, Told};
use unstuck_core::fault::{Fault, Origin};
use unstuck_runner::RESULT_BYTES_MAX;

use super::directed::Directed;
use super::intents::known;
use super::record::Found;
use crate::api::body::Body;
use crate::api::docs::{Api, Op};
use crate::api::which::{At, InProject};
use crate::problem::Problem;

/// Maximum size of a body, in bytes: a result may get longer when it is written as JSON.
const OUTCOME_BYTES_MAX: usize = 4 * RESULT_BYTES_MAX;
/// The source of such an outcome's fault.
const SOURCE: &str = "session";

pub(super) fn routes(api: Api) -> Api {
    api.op(
        Op::patch(
            "/api/v1/sessions/{session}/mutations/{key}",
            "settleMutation",
            "What came of an irreversible action",
        )
        .query::<InProject>()
        .body::<CameOf>()
        .gives::<Acted>(200, "It is recorded.")
        .problem(StatusCode::NOT_FOUND, "There is no such session, or no such action in it.")
        .problem(StatusCode::CONFLICT, "It was not sent, or settled with another outcome.")
        .problem(StatusCode::PAYLOAD_TOO_LARGE, "The result is longer than 1 MB."),
        patch(settle).layer(DefaultBodyLimit::max(OUTCOME_BYTES_MAX)),
    )
}

/// The outcome of an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MutationCameOf")]
struct CameOf {
    /// The way in which the action ended.
    outcome: How,
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
enum How {
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
struct Acted {
    /// The action's key.
    key: String,
    /// The status of the action: `applied`, `not_applied`, `indeterminate`, `skipped`.
    status: &'static str,
    /// The direction of the session's runtime.
    #[serde(flatten)]
    direction: Directed,
}

async fn settle(
    at: At,
    Path((session, key)): Path<(String, String)>,
    Body(came): Body<CameOf>,
) -> Result<Json<Acted>, Problem> {
    let Found { task } = Found::named(&at.room, &session).await?;
    let unknown = || {
        Problem::unknown("action", format!("{key:?} in session {session}"))
            .hint(format!("say first that you are about to perform it: `POST /api/v1/sessions/{session}/mutations`"))
    };
    known(&at.room, task.id, &key).await?.ok_or_else(unknown)?;
    let outcome = came.outcome(|text| at.room.desk.redacted(text))?;
    let told = Told::Acted { key: key.clone(), outcome };
    at.room.desk.command(Command::Report { task: task.id, told }).await?;
    let status =
        known(&at.room, task.id, &key).await?.map_or("skipped", |known| word(&known.state));
    let direction = Directed::read(&at.room, &task).await?;
    Ok(Json(Acted { key, status, direction }))
}

impl CameOf {
    fn outcome(self, redacted: impl Fn(&str) -> Arc<str>) -> Result<Outcome, Problem> {
        let result = self.result.unwrap_or_default();
        if result.len() > RESULT_BYTES_MAX {
            let detail = format!("`result` is longer than {RESULT_BYTES_MAX} bytes");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
                .hint("keep it where you like, and send its address"));
        }
        let message = redacted(self.message.as_deref().unwrap_or("no more was said"));
        let fault = || Arc::new(Fault::unclassified(Origin::Connector, SOURCE, &*message, ""));
        Ok(match self.outcome {
            How::Applied => Outcome::Applied { result: Arc::from(result) },
            How::Failed => Outcome::Failed { fault: fault(), approach: None },
            How::Unknown => Outcome::Unknown { fault: fault() },
        })
    }
}

/// Returns the state of an action, in a word.
const fn word(state: &MutationState) -> &'static str {
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

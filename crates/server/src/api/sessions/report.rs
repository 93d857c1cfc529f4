//! Reports of a runtime about its work: a failure, or success.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, SessionReport};

use super::directed::ApiSessionDirection;
use super::failure::{SessionFailure, summary_line};
use super::record::{ApiSessionTask, SessionRecord};
use crate::api::body::{ApiJsonBody, ApiOptionalBody};
use crate::api::docs::{ApiOperation, ApiRouter};
use crate::api::request_key;
use crate::api::which::{ApiProjectQuery, ApiProjectRequest};
use crate::desk::ProjectHostError;
use crate::problem::Problem;
use crate::site::HostedProject;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let gone = "There is no such session.";
    let unsettled = "An action was sent, and what came of it was not told.";
    api.add_operation(
        ApiOperation::post(
            "/api/v1/sessions/{session}/failures",
            "reportFailure",
            "The work failed: what is to be done now?",
        )
        .with_header(request_key::HEADER_NAME, true, request_key::HEADER_DESCRIPTION)
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionFailure>()
        .with_response::<ApiSessionDirection>(200, "What to do now.")
        .with_problem(StatusCode::NOT_FOUND, gone)
        .with_problem(StatusCode::CONFLICT, unsettled)
        .with_problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "It does not say what failed, or the key was sent with something else.",
        ),
        post(report_failure),
    )
    .add_operation(
        ApiOperation::post(
            "/api/v1/sessions/{session}/success",
            "reportSuccess",
            "The goal is reached",
        )
        .with_query::<ApiProjectQuery>()
        .with_body::<SessionSuccess>()
        .with_response::<SessionRecord>(200, "The session, which is over.")
        .with_problem(StatusCode::NOT_FOUND, gone)
        .with_problem(StatusCode::CONFLICT, "It is not its turn, or an action is not settled."),
        post(report_success),
    )
}

/// A report of success.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SessionSuccess")]
struct SessionSuccess {
    /// The work that was done, in a line.
    summary: Option<String>,
}

async fn report_failure(
    at: ApiProjectRequest,
    Path(session): Path<String>,
    ApiJsonBody(failure): ApiJsonBody<SessionFailure>,
) -> Result<Json<ApiSessionDirection>, Problem> {
    let request = request_key::require_request_key(&at.headers, "failure", &failure)?;
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let redacted = |text: &str| at.project.host.redact_text(text);
    let fault = Arc::new(failure.to_fault(redacted)?);
    let approach = Some(Arc::new(failure.to_approach(redacted)));
    // A report about a session that is over costs nothing; the engine may no longer have the
    // session.
    if !task.moved.state.has_ended() {
        let told = SessionReport::Failed { request, fault, approach };
        submit_report(&at.project, &session, Command::Report { task: task.id, told }).await?;
    }
    ApiSessionDirection::load_for_task(&at.project, &task).await.map(Json)
}

async fn report_success(
    at: ApiProjectRequest,
    Path(session): Path<String>,
    ApiOptionalBody(success): ApiOptionalBody<SessionSuccess>,
) -> Result<Json<SessionRecord>, Problem> {
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&at.project, &session).await?;
    let summary = success.summary.as_deref().unwrap_or_default();
    let approach = Approach {
        summary: summary_line(&at.project.host.redact_text(summary)),
        ..Approach::default()
    };
    if !task.moved.state.has_ended() {
        let told = SessionReport::Done { approach: Arc::new(approach) };
        submit_report(&at.project, &session, Command::Report { task: task.id, told }).await?;
    }
    let record =
        ApiSessionTask::find_by_name(&at.project, &session).await?.into_record(&at.project).await?;
    record.require_done().map(Json)
}

async fn submit_report(
    room: &HostedProject,
    session: &str,
    command: Command,
) -> Result<(), Problem> {
    match room.host.submit_command(command).await {
        Ok(_) => Ok(()),
        Err(refused @ ProjectHostError::NotNow(_)) => {
            let hint = format!(
                "say first what became of it: `PATCH /api/v1/sessions/{session}/mutations/KEY`"
            );
            Err(Problem::from(refused).with_hint(hint))
        }
        Err(refused) => Err(refused.into()),
    }
}

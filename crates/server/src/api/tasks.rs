//! Tasks: retrying and skipping one.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use unstuck_core::engine::{BuildId, Command, EventEnvelope, TaskId};

use super::docs::{ApiOperation, ApiRouter};
use super::request_key;
use super::which::{self, ApiProjectQuery, ApiProjectRequest};
use crate::problem::Problem;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let operation = |path, id, summary| {
        ApiOperation::post(path, id, summary)
            .with_query::<ApiProjectQuery>()
            .with_header(request_key::HEADER_NAME, false, request_key::HEADER_DESCRIPTION)
            .with_response::<Vec<EventEnvelope<'_>>>(200, "What came of it.")
            .with_problem(StatusCode::NOT_FOUND, "There is no such task in this build.")
            .with_problem(StatusCode::CONFLICT, "It does not fit the state the task is in.")
    };
    let (retry_at, skip_at) =
        ("/api/v1/builds/{build}/tasks/{task}/retry", "/api/v1/builds/{build}/tasks/{task}/skip");
    api.add_operation(operation(retry_at, "retryTask", "Do a task after all"), post(retry_task))
        .add_operation(operation(skip_at, "skipTask", "Leave a task out"), post(skip_task))
}

async fn retry_task(
    at: ApiProjectRequest,
    Path((build, task)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let task = find_task(&at, &build, &task).await?;
    super::submit_order(&at, Command::Retry { task }).await
}

async fn skip_task(
    at: ApiProjectRequest,
    Path((build, task)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let task = find_task(&at, &build, &task).await?;
    super::submit_order(&at, Command::Skip { task }).await
}

/// Returns the id of the named task, if it belongs to the build.
async fn find_task(at: &ApiProjectRequest, build: &str, task: &str) -> Result<TaskId, Problem> {
    let build = BuildId(which::parse_number("build", 'b', build)?);
    let id = TaskId(which::parse_number("task", 't', task)?);
    let row =
        at.project.store.load_task(&at.project.name, id).await?.filter(|row| row.build == build);
    row.map(|row| row.id).ok_or_else(|| Problem::not_found("task", id))
}

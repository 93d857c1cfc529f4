//! Tasks: retrying and skipping one.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use unstuck_core::engine::{BuildId, Command, Envelope, TaskId};

use super::docs::{Api, Op};
use super::request_key;
use super::which::{self, At, InProject};
use crate::problem::Problem;

pub(super) fn routes(api: Api) -> Api {
    let operation = |path, id, summary| {
        Op::post(path, id, summary)
            .query::<InProject>()
            .header(request_key::NAME, false, request_key::SAYS)
            .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
            .problem(StatusCode::NOT_FOUND, "There is no such task in this build.")
            .problem(StatusCode::CONFLICT, "It does not fit the state the task is in.")
    };
    let (retry_at, skip_at) =
        ("/api/v1/builds/{build}/tasks/{task}/retry", "/api/v1/builds/{build}/tasks/{task}/skip");
    api.op(operation(retry_at, "retryTask", "Do a task after all"), post(retry))
        .op(operation(skip_at, "skipTask", "Leave a task out"), post(skip))
}

async fn retry(at: At, Path((build, task)): Path<(String, String)>) -> Result<Response, Problem> {
    let task = found(&at, &build, &task).await?;
    super::ordered(&at, Command::Retry { task }).await
}

async fn skip(at: At, Path((build, task)): Path<(String, String)>) -> Result<Response, Problem> {
    let task = found(&at, &build, &task).await?;
    super::ordered(&at, Command::Skip { task }).await
}

/// Returns the id of the named task, if it belongs to the build.
async fn found(at: &At, build: &str, task: &str) -> Result<TaskId, Problem> {
    let build = BuildId(which::number("build", 'b', build)?);
    let id = TaskId(which::number("task", 't', task)?);
    let row = at.room.store.task(&at.room.name, id).await?.filter(|row| row.build == build);
    row.map(|row| row.id).ok_or_else(|| Problem::unknown("task", id))
}

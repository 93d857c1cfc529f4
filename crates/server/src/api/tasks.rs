//! Tasks: doing one after all, leaving one out.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use unstuck_core::engine::{BuildId, Command, Envelope, TaskId};

use super::Shared;
use super::body::Asks;
use super::docs::{Api, Op};
use super::which::{self, InProject};
use crate::auth::Caller;
use crate::problem::Problem;

pub(super) fn routes(api: Api) -> Api {
    let operation = |path, id, summary| {
        Op::post(path, id, summary)
            .query::<InProject>()
            .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
            .problem(StatusCode::NOT_FOUND, "There is no such task in this build.")
            .problem(StatusCode::CONFLICT, "It does not fit the state the task is in.")
    };
    let (retry_at, skip_at) =
        ("/api/v1/builds/{build}/tasks/{task}/retry", "/api/v1/builds/{build}/tasks/{task}/skip");
    api.op(operation(retry_at, "retryTask", "Do a task after all"), post(retry))
        .op(operation(skip_at, "skipTask", "Leave a task out"), post(skip))
}

async fn retry(
    State(site): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((build, task)): Path<(String, String)>,
    Asks(which): Asks<InProject>,
) -> Result<Response, Problem> {
    order(&site, &caller, &which, (&build, &task), |task| Command::Retry { task }).await
}

async fn skip(
    State(site): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((build, task)): Path<(String, String)>,
    Asks(which): Asks<InProject>,
) -> Result<Response, Problem> {
    order(&site, &caller, &which, (&build, &task), |task| Command::Skip { task }).await
}

async fn order(
    site: &Shared,
    caller: &Caller,
    which: &InProject,
    (build, task): (&str, &str),
    command: impl FnOnce(TaskId) -> Command,
) -> Result<Response, Problem> {
    let room = which::room(site, caller, which.project.as_deref())?;
    let build = BuildId(which::number("build", 'b', build)?);
    let id = TaskId(which::number("task", 't', task)?);
    let row = room.store.task(&room.name, id).await?.filter(|row| row.build == build);
    let row = row.ok_or_else(|| Problem::unknown("task", id))?;
    super::ordered(&room, command(row.id)).await
}

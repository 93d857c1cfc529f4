//! Jobs: scripts that are kept alive.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use unstuck_core::engine::{Command, Envelope, TaskId};

use super::body::Asks;
use super::builds::InRoom;
use super::docs::{Api, Op};
use super::which::{self, At, InProject, Listed};
use super::{Shared, cached, request_key};
use crate::auth::Caller;
use crate::desk::JobStanding;
use crate::problem::Problem;

pub(super) fn routes(api: Api) -> Api {
    let operation = |path, id, summary| {
        Op::post(path, id, summary)
            .query::<InProject>()
            .header(request_key::NAME, false, request_key::SAYS)
            .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
            .problem(StatusCode::NOT_FOUND, "There is no such job.")
            .problem(StatusCode::CONFLICT, "It does not fit the state the job is in.")
    };
    api.op(
        Op::get("/api/v1/jobs", "listJobs", "Jobs, by name").query::<InProject>().gives::<Listed<
            InRoom<JobStanding>,
        >>(
            200,
            "All of them.",
        ),
        get(list),
    )
    .op(operation("/api/v1/jobs/{job}/run", "runJob", "Run a job now"), post(run))
    .op(
        operation("/api/v1/jobs/{job}/pause", "pauseJob", "Leave a job alone when its time comes"),
        post(pause),
    )
    .op(
        operation("/api/v1/jobs/{job}/resume", "resumeJob", "Run a job at its times again"),
        post(resume),
    )
}

async fn list(
    State(site): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Asks(which): Asks<InProject>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    for room in which::rooms(&site, &caller, which.project.as_deref())? {
        let jobs = room.desk.jobs().await?;
        items.extend(jobs.into_iter().map(|row| InRoom { project: room.name.to_string(), row }));
    }
    Ok(cached(&headers, &Listed { items, next: None }))
}

async fn run(at: At, Path(job): Path<String>) -> Result<Response, Problem> {
    let task = found(&at, &job).await?;
    super::ordered(&at, Command::FireJob { task }).await
}

async fn pause(at: At, Path(job): Path<String>) -> Result<Response, Problem> {
    let task = found(&at, &job).await?;
    super::ordered(&at, Command::HoldJob { task }).await
}

async fn resume(at: At, Path(job): Path<String>) -> Result<Response, Problem> {
    let task = found(&at, &job).await?;
    super::ordered(&at, Command::ReleaseJob { task }).await
}

/// Returns the task of the named job.
async fn found(at: &At, name: &str) -> Result<TaskId, Problem> {
    let jobs = at.room.desk.jobs().await?;
    let task = jobs.iter().find(|job| job.name == name).and_then(JobStanding::task);
    task.ok_or_else(|| {
        Problem::unknown("job", name).hint("`GET /api/v1/jobs` lists those that are taken care of")
    })
}

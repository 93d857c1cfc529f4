//! Jobs: scripts that are kept alive.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use unstuck_core::engine::{Command, TaskId};

use super::docs::{ApiOperation, ApiRouter};
use super::request::ApiQueryParams;
use super::resolve::{self, ApiProjectQuery, ApiProjectRequest, InRoom, Listed};
use super::{describe_command, respond_with_etag, submit_command};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::project_host::JobOverview;
use crate::server_state::SharedServerState;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let command = |path, id, summary| {
        describe_command(path, id, summary)
            .with_problem(StatusCode::NOT_FOUND, "There is no such job.")
            .with_problem(StatusCode::CONFLICT, "It does not fit the state the job is in.")
    };
    api.add_operation(
        ApiOperation::get("/api/v1/jobs", "listJobs", "Jobs, by name")
            .with_query::<ApiProjectQuery>()
            .with_response::<Listed<InRoom<JobOverview>>>(200, "All of them."),
        get(list_jobs),
    )
    .add_operation(
        command("/api/v1/jobs/{job}/run", "runJob", "Run a job now"),
        post(|at, path| submit_job_command(at, path, |task| Command::FireJob { task })),
    )
    .add_operation(
        command("/api/v1/jobs/{job}/pause", "pauseJob", "Leave a job alone when its time comes"),
        post(|at, path| submit_job_command(at, path, |task| Command::HoldJob { task })),
    )
    .add_operation(
        command("/api/v1/jobs/{job}/resume", "resumeJob", "Run a job at its times again"),
        post(|at, path| submit_job_command(at, path, |task| Command::ReleaseJob { task })),
    )
}

async fn list_jobs(
    State(site): State<SharedServerState>,
    caller: Caller,
    headers: HeaderMap,
    ApiQueryParams(which): ApiQueryParams<ApiProjectQuery>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    for hosted in resolve::find_projects(&site, &caller, which.project.as_deref())? {
        let jobs = hosted.host.list_jobs().await?;
        items.extend(jobs.into_iter().map(|row| InRoom { project: hosted.name.to_string(), row }));
    }
    Ok(respond_with_etag(&headers, &Listed { items, next: None }))
}

async fn submit_job_command(
    at: ApiProjectRequest,
    Path(job): Path<String>,
    command: fn(TaskId) -> Command,
) -> Result<Response, Problem> {
    let task = find_job(&at, &job).await?;
    submit_command(&at, command(task)).await
}

async fn find_job(at: &ApiProjectRequest, name: &str) -> Result<TaskId, Problem> {
    let jobs = at.project.host.list_jobs().await?;
    let task = jobs.iter().find(|job| job.name == name).and_then(JobOverview::task_id);
    task.ok_or_else(|| {
        Problem::not_found("job", name)
            .with_hint("`GET /api/v1/jobs` lists those that are taken care of")
    })
}

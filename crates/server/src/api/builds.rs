//! Builds and their tasks: their state, and commands about them.

use std::collections::HashSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Command, EventEnvelope, TaskId};
use unstuck_runner::collect_kick_commands;
use unstuck_runner::report::{BuildFacts, BuildReport};
use unstuck_store::tables::{BuildRow, RunRow, TaskRow};

use super::docs::{ApiOperation, ApiRouter};
use super::problems::{Met, load_problems};
use super::request::{ApiJsonBody, ApiQueryParams};
use super::resolve::{self, ApiListQuery, ApiProjectQuery, ApiProjectRequest, InRoom, Listed};
use super::{describe_command, request, respond_with_etag, respond_with_events, submit_command};
use crate::auth::{AccessRole, Caller};
use crate::problem::Problem;
use crate::project_host::{BuildStartRequest, OrderedBuild, ProjectHostError};
use crate::server_state::{HostedProject, SharedServerState};

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    add_task_routes(add_build_routes(api))
}

fn add_build_routes(api: ApiRouter) -> ApiRouter {
    let gone = (StatusCode::NOT_FOUND, "There is no such build.");
    let command = |path, id, summary| {
        describe_command(path, id, summary)
            .with_problem(gone.0, gone.1)
            .with_problem(StatusCode::CONFLICT, "It does not fit the state the build is in.")
    };
    api.add_operation(
        ApiOperation::get("/api/v1/builds", "listBuilds", "Builds, newest first")
            .with_role(AccessRole::Answerer)
            .with_query::<ApiListQuery>()
            .with_response::<Listed<InRoom<BuildRow>>>(200, "Some of the builds."),
        get(list_builds),
    )
    .add_operation(
        ApiOperation::post("/api/v1/builds", "startBuild", "Start a build")
            .with_query::<ApiProjectQuery>()
            .with_request_key(false)
            .with_body::<NewBuild>()
            .with_response::<InRoom<StartedBuild>>(201, "It was started.")
            .with_problem(StatusCode::CONFLICT, "It cannot begin as things are.")
            .with_problem(
                StatusCode::UNPROCESSABLE_ENTITY,
                "What is to be done cannot be read, or the key was sent with something else.",
            ),
        post(start_build),
    )
    .add_operation(
        ApiOperation::get("/api/v1/builds/{build}", "getBuild", "One build")
            .with_role(AccessRole::Answerer)
            .with_query::<ApiProjectQuery>()
            .with_response::<InRoom<BuildRow>>(200, "The build.")
            .with_problem(gone.0, gone.1),
        get(get_build),
    )
    .add_operation(
        ApiOperation::get("/api/v1/builds/{build}/tasks", "listTasks", "The tasks of a build")
            .with_query::<ApiListQuery>()
            .with_response::<Listed<TaskRow>>(200, "Some of them, in their order.")
            .with_problem(gone.0, gone.1),
        get(list_tasks),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/builds/{build}/runs", "listRuns", "The runs of a build, by task",
        )
        .with_query::<ApiListQuery>()
        .with_response::<Listed<RunRow>>(200, "Some of them.")
        .with_problem(gone.0, gone.1),
        get(list_runs),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/builds/{build}/problems",
            "listBuildProblems",
            "The errors a build met",
        )
        .with_query::<ApiListQuery>()
        .with_response::<Listed<Met>>(200, "Some of them, the latest first.")
        .with_problem(gone.0, gone.1),
        get(list_build_problems),
    )
    .add_operation(
        ApiOperation::get("/api/v1/builds/{build}/report", "getReport", "What a build came to")
            .with_role(AccessRole::Answerer)
            .with_query::<ApiProjectQuery>()
            .with_response::<serde_json::Value>(200, "The report.")
            .with_problem(gone.0, gone.1),
        get(get_report),
    )
    .add_operation(
        command("/api/v1/builds/{build}/pause", "pauseBuild", "Hold a build"),
        post(|at, path| submit_build_command(at, path, |build| Command::Pause { build })),
    )
    .add_operation(
        command("/api/v1/builds/{build}/resume", "resumeBuild", "Let a held build go on"),
        post(|at, path| submit_build_command(at, path, |build| Command::Resume { build })),
    )
    .add_operation(
        command("/api/v1/builds/{build}/cancel", "cancelBuild", "End a build"),
        post(|at, path| submit_build_command(at, path, |build| Command::Cancel { build })),
    )
    .add_operation(
        ApiOperation::post(
            "/api/v1/builds/{build}/kick",
            "kickBuild",
            "End the waits of a build early",
        )
        .with_query::<ApiProjectQuery>()
        .with_response::<Vec<EventEnvelope<'_>>>(200, "What came of it.")
        .with_problem(gone.0, gone.1),
        post(kick_build),
    )
}

fn add_task_routes(api: ApiRouter) -> ApiRouter {
    let command = |path, id, summary| {
        describe_command(path, id, summary)
            .with_problem(StatusCode::NOT_FOUND, "There is no such task in this build.")
            .with_problem(StatusCode::CONFLICT, "It does not fit the state the task is in.")
    };
    api.add_operation(
        command("/api/v1/builds/{build}/tasks/{task}/retry", "retryTask", "Do a task after all"),
        post(|at, path| submit_task_command(at, path, |task| Command::Retry { task })),
    )
    .add_operation(
        command("/api/v1/builds/{build}/tasks/{task}/skip", "skipTask", "Leave a task out"),
        post(|at, path| submit_task_command(at, path, |task| Command::Skip { task })),
    )
}

async fn list_builds(
    State(site): State<SharedServerState>,
    caller: Caller,
    headers: HeaderMap,
    ApiQueryParams(part): ApiQueryParams<ApiListQuery>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    for hosted in resolve::find_projects(&site, &caller, part.project.as_deref())? {
        let rows = hosted.store.load_builds(&hosted.name).await?;
        items.extend(rows.into_iter().map(|row| InRoom { project: hosted.name.to_string(), row }));
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.row.started_at));
    let listed = part.take_page(items, |item| format!("{}/{}", item.project, item.row.id.0))?;
    Ok(respond_with_etag(&headers, &listed))
}

/// The work of a new build: a goal or files, and without either the files in the usual folder.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NewBuild {
    /// A goal, in a few words.
    goal: Option<String>,
    /// Files or folders with tasks, relative to the root of the project.
    tasks: Option<Vec<String>>,
}

/// A build that was started.
#[derive(Serialize, JsonSchema)]
struct StartedBuild {
    /// Warnings from before its start, each with the line to write; a build that had been started by the
    /// same request has none.
    warnings: Vec<String>,
    #[serde(flatten)]
    row: BuildRow,
}

async fn start_build(
    at: ApiProjectRequest,
    ApiJsonBody(new): ApiJsonBody<NewBuild>,
) -> Result<Response, Problem> {
    let request = request::parse_request_key(&at.headers, "build", &new)?;
    let wanted = match (new.goal, new.tasks) {
        (Some(goal), None) => BuildStartRequest::Goal(goal),
        (None, tasks) => BuildStartRequest::Files(tasks.unwrap_or_default()),
        (Some(_), Some(_)) => {
            let detail = "there is a goal and there are tasks";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
                .with_hint("give one of them; a goal is a build with a single task"));
        }
    };
    let issuer = at.caller.to_issuer(request);
    let OrderedBuild { build, warnings } = at.project.host.start_build(wanted, issuer).await?;
    let row = load_build(&at.project, build).await?;
    let row = StartedBuild { warnings, row };
    let project = utf8_percent_encode(&at.project.name, NON_ALPHANUMERIC);
    let place = format!("/api/v1/builds/{build}?project={project}");
    let body = Json(InRoom { project: at.project.name.to_string(), row });
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], body).into_response())
}

async fn find_build(hosted: &HostedProject, build: &str) -> Result<BuildRow, Problem> {
    load_build(hosted, BuildId(resolve::parse_number("build", 'b', build)?)).await
}

pub(crate) async fn load_build(hosted: &HostedProject, id: BuildId) -> Result<BuildRow, Problem> {
    let rows = hosted.store.load_builds(&hosted.name).await?;
    let row = rows.into_iter().find(|row| row.id == id);
    row.ok_or_else(|| Problem::not_found("build", id))
}

async fn get_build(at: ApiProjectRequest, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = find_build(&at.project, &build).await?;
    Ok(respond_with_etag(&at.headers, &InRoom { project: at.project.name.to_string(), row }))
}

async fn list_tasks(
    at: ApiProjectRequest<ApiListQuery>,
    Path(build): Path<String>,
) -> Result<Response, Problem> {
    let row = find_build(&at.project, &build).await?;
    let items = at.project.store.load_build_tasks(&at.project.name, row.id).await?;
    Ok(respond_with_etag(&at.headers, &at.query.take_page(items, |task| task.id.to_string())?))
}

async fn list_runs(
    at: ApiProjectRequest<ApiListQuery>,
    Path(build): Path<String>,
) -> Result<Response, Problem> {
    let row = find_build(&at.project, &build).await?;
    let store = &at.project.store;
    let name = &at.project.name;
    let mut items = Vec::new();
    for task in store.load_build_tasks(name, row.id).await? {
        items.extend(store.load_task_runs(name, task.id).await?);
    }
    Ok(respond_with_etag(&at.headers, &at.query.take_page(items, |run| run.id.to_string())?))
}

async fn list_build_problems(
    at: ApiProjectRequest<ApiListQuery>,
    Path(build): Path<String>,
) -> Result<Response, Problem> {
    let row = find_build(&at.project, &build).await?;
    let store = &at.project.store;
    let name = &at.project.name;
    let mut known = HashSet::new();
    for task in store.load_build_tasks(name, row.id).await? {
        let runs = store.load_task_runs(name, task.id).await?;
        known.extend(runs.iter().filter_map(|run| Some(run.fault.as_ref()?.signature)));
    }
    let mut items = load_problems(&at.project).await?;
    items.retain(|met| known.contains(&met.signature));
    Ok(respond_with_etag(&at.headers, &at.query.take_page(items, |met| met.signature.to_string())?))
}

async fn get_report(at: ApiProjectRequest, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = find_build(&at.project, &build).await?;
    let report = load_report(&at.site, &at.project, row.id).await?;
    let report = if at.caller.has_role(AccessRole::Viewer) { report } else { report.into_public() };
    Ok(respond_with_etag(&at.headers, &report))
}

pub(crate) async fn load_report(
    site: &SharedServerState,
    hosted: &HostedProject,
    build: BuildId,
) -> Result<BuildReport, Problem> {
    // The report counts this server as a process that works on the build.
    let seen = (true, site.clock.now());
    let facts = BuildFacts::load(hosted.store.as_ref(), &hosted.name, Some(build), seen).await?;
    facts
        .map(|facts| BuildReport::from_facts(&facts))
        .ok_or_else(|| Problem::not_found("build", build))
}

async fn submit_build_command(
    at: ApiProjectRequest,
    Path(build): Path<String>,
    command: fn(BuildId) -> Command,
) -> Result<Response, Problem> {
    let build = find_build(&at.project, &build).await?.id;
    submit_command(&at, command(build)).await
}

async fn kick_build(at: ApiProjectRequest, Path(build): Path<String>) -> Result<Response, Problem> {
    let build = find_build(&at.project, &build).await?.id;
    let rows = at.project.store.load_build_tasks(&at.project.name, build).await?;
    let mut events = Vec::new();
    for command in collect_kick_commands(&rows) {
        match at.project.host.submit_command(at.caller.attribute_command(command)).await {
            Ok(more) => events.extend(more),
            // Another caller, or the end of the wait, was quicker.
            Err(ProjectHostError::NotNow(_)) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    Ok(respond_with_events(&at.project, &events))
}

async fn submit_task_command(
    at: ApiProjectRequest,
    Path((build, task)): Path<(String, String)>,
    command: fn(TaskId) -> Command,
) -> Result<Response, Problem> {
    let build = BuildId(resolve::parse_number("build", 'b', &build)?);
    let task = TaskId(resolve::parse_number("task", 't', &task)?);
    let task = load_task(&at.project, build, task).await?.id;
    submit_command(&at, command(task)).await
}

/// Returns a task, if it belongs to the build.
pub(crate) async fn load_task(
    hosted: &HostedProject,
    build: BuildId,
    task: TaskId,
) -> Result<TaskRow, Problem> {
    let row = hosted.store.load_task(&hosted.name, task).await?.filter(|row| row.build == build);
    row.ok_or_else(|| Problem::not_found("task", task))
}

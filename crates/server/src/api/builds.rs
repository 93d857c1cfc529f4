//! Builds: their state, and commands about them.

use std::collections::HashSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Command, Envelope};
use unstuck_runner::kicks;
use unstuck_runner::report::{Facts, Report};
use unstuck_store::tables::{BuildRow, RunRow, TaskRow};

use super::body::{Asks, Body};
use super::docs::{Api, Op};
use super::problems::{Met, met};
use super::which::{self, At, InProject, Listed, Part};
use super::{Shared, cached, request_key};
use crate::auth::{Caller, Role};
use crate::desk::{Refused, Wanted};
use crate::problem::Problem;
use crate::site::Room;

pub(super) fn routes(api: Api) -> Api {
    let gone = (StatusCode::NOT_FOUND, "There is no such build.");
    let order = |path, id, summary| {
        Op::post(path, id, summary)
            .query::<InProject>()
            .header(request_key::NAME, false, request_key::SAYS)
            .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
            .problem(gone.0, gone.1)
            .problem(StatusCode::CONFLICT, "It does not fit the state the build is in.")
    };
    api.op(
        Op::get("/api/v1/builds", "listBuilds", "Builds, newest first")
            .takes(Role::Answerer)
            .query::<Part>()
            .gives::<Listed<InRoom<BuildRow>>>(200, "Some of the builds."),
        get(list),
    )
    .op(
        Op::post("/api/v1/builds", "startBuild", "Start a build")
            .query::<InProject>()
            .header(request_key::NAME, false, request_key::SAYS)
            .body::<NewBuild>()
            .gives::<InRoom<BuildRow>>(201, "It was started.")
            .problem(StatusCode::CONFLICT, "It cannot begin as things are.")
            .problem(
                StatusCode::UNPROCESSABLE_ENTITY,
                "What is to be done cannot be read, or the key was sent with something else.",
            ),
        post(start),
    )
    .op(
        Op::get("/api/v1/builds/{build}", "getBuild", "One build")
            .takes(Role::Answerer)
            .query::<InProject>()
            .gives::<InRoom<BuildRow>>(200, "The build.")
            .problem(gone.0, gone.1),
        get(one),
    )
    .op(
        Op::get("/api/v1/builds/{build}/tasks", "listTasks", "The tasks of a build")
            .query::<Part>()
            .gives::<Listed<TaskRow>>(200, "Some of them, in their order.")
            .problem(gone.0, gone.1),
        get(tasks),
    )
    .op(
        Op::get("/api/v1/builds/{build}/runs", "listRuns", "The runs of a build, by task")
            .query::<Part>()
            .gives::<Listed<RunRow>>(200, "Some of them.")
            .problem(gone.0, gone.1),
        get(runs),
    )
    .op(
        Op::get("/api/v1/builds/{build}/problems", "listBuildProblems", "The errors a build met")
            .query::<Part>()
            .gives::<Listed<Met>>(200, "Some of them, the latest first.")
            .problem(gone.0, gone.1),
        get(problems),
    )
    .op(
        Op::get("/api/v1/builds/{build}/report", "getReport", "What a build came to")
            .takes(Role::Answerer)
            .query::<InProject>()
            .gives::<serde_json::Value>(200, "The report.")
            .problem(gone.0, gone.1),
        get(report),
    )
    .op(order("/api/v1/builds/{build}/pause", "pauseBuild", "Hold a build"), post(pause))
    .op(
        order("/api/v1/builds/{build}/resume", "resumeBuild", "Let a held build go on"),
        post(resume),
    )
    .op(order("/api/v1/builds/{build}/cancel", "cancelBuild", "End a build"), post(cancel))
    .op(
        Op::post("/api/v1/builds/{build}/kick", "kickBuild", "End the waits of a build early")
            .query::<InProject>()
            .gives::<Vec<Envelope<'_>>>(200, "What came of it.")
            .problem(gone.0, gone.1),
        post(kick),
    )
}

/// An item with its project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct InRoom<T> {
    /// The project.
    pub(crate) project: String,
    #[serde(flatten)]
    pub(crate) row: T,
}

async fn list(
    State(site): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Asks(part): Asks<Part>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    for room in which::rooms(&site, &caller, part.project.as_deref())? {
        let rows = room.store.builds(&room.name).await?;
        items.extend(rows.into_iter().map(|row| InRoom { project: room.name.to_string(), row }));
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.row.started_at));
    let listed = part.of(items, |item| format!("{}/{}", item.project, item.row.id.0))?;
    Ok(cached(&headers, &listed))
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

async fn start(at: At, Body(new): Body<NewBuild>) -> Result<Response, Problem> {
    let request = request_key::of(&at.headers, "build", &new)?;
    let wanted = match (new.goal, new.tasks) {
        (Some(goal), None) => Wanted::Goal(goal),
        (None, tasks) => Wanted::Files(tasks.unwrap_or_default()),
        (Some(_), Some(_)) => {
            let detail = "there is a goal and there are tasks";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
                .hint("give one of them; a goal is a build with a single task"));
        }
    };
    let build = at.room.desk.start(wanted, at.caller.order(request)).await?;
    let row = build_of(&at.room, build).await?;
    let project = utf8_percent_encode(&at.room.name, NON_ALPHANUMERIC);
    let place = format!("/api/v1/builds/{build}?project={project}");
    let body = Json(InRoom { project: at.room.name.to_string(), row });
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], body).into_response())
}

/// Returns the build that a path names.
async fn found(room: &Room, build: &str) -> Result<BuildRow, Problem> {
    build_of(room, BuildId(which::number("build", 'b', build)?)).await
}

/// Returns a build of a project.
pub(crate) async fn build_of(room: &Room, id: BuildId) -> Result<BuildRow, Problem> {
    let rows = room.store.builds(&room.name).await?;
    let row = rows.into_iter().find(|row| row.id == id);
    row.ok_or_else(|| Problem::unknown("build", id))
}

async fn one(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = found(&at.room, &build).await?;
    Ok(cached(&at.headers, &InRoom { project: at.room.name.to_string(), row }))
}

async fn tasks(at: At<Part>, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = found(&at.room, &build).await?;
    let items = at.room.store.tasks(&at.room.name, row.id).await?;
    Ok(cached(&at.headers, &at.asks.of(items, |task| task.id.to_string())?))
}

async fn runs(at: At<Part>, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = found(&at.room, &build).await?;
    let store = &at.room.store;
    let name = &at.room.name;
    let mut items = Vec::new();
    for task in store.tasks(name, row.id).await? {
        items.extend(store.runs(name, task.id).await?);
    }
    Ok(cached(&at.headers, &at.asks.of(items, |run| run.id.to_string())?))
}

async fn problems(at: At<Part>, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = found(&at.room, &build).await?;
    let store = &at.room.store;
    let name = &at.room.name;
    let mut known = HashSet::new();
    for task in store.tasks(name, row.id).await? {
        let runs = store.runs(name, task.id).await?;
        known.extend(runs.iter().filter_map(|run| Some(run.fault.as_ref()?.signature)));
    }
    let mut items = met(&at.room).await?;
    items.retain(|met| known.contains(&met.signature));
    Ok(cached(&at.headers, &at.asks.of(items, |met| met.signature.to_string())?))
}

async fn report(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let row = found(&at.room, &build).await?;
    let report = report_of(&at.site, &at.room, row.id).await?;
    let report = if at.caller.may(Role::Viewer) { report } else { report.public() };
    Ok(cached(&at.headers, &report))
}

/// Returns the report of a build.
pub(crate) async fn report_of(
    site: &Shared,
    room: &Room,
    build: BuildId,
) -> Result<Report, Problem> {
    // The report counts this server as a process that works on the build.
    let seen = (true, site.clock.now());
    let facts = Facts::read(room.store.as_ref(), &room.name, Some(build), seen).await?;
    facts.map(|facts| Report::of(&facts)).ok_or_else(|| Problem::unknown("build", build))
}

async fn pause(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let build = found(&at.room, &build).await?.id;
    super::ordered(&at, Command::Pause { build }).await
}

async fn resume(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let build = found(&at.room, &build).await?.id;
    super::ordered(&at, Command::Resume { build }).await
}

async fn cancel(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let build = found(&at.room, &build).await?.id;
    super::ordered(&at, Command::Cancel { build }).await
}

async fn kick(at: At, Path(build): Path<String>) -> Result<Response, Problem> {
    let build = found(&at.room, &build).await?.id;
    let rows = at.room.store.tasks(&at.room.name, build).await?;
    let mut events = Vec::new();
    for command in kicks(&rows) {
        match at.room.desk.command(at.caller.wants(command)).await {
            Ok(more) => events.extend(more),
            // Another caller, or the end of the wait, was quicker.
            Err(Refused::NotNow(_)) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
    Ok(super::told(&at.room, &events))
}

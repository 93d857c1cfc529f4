//! Live events as server-sent streams.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Deserialize;
use unstuck_core::engine::BuildId;

use super::Shared;
use super::body::Asks;
use super::builds::build_of;
use super::docs::{Api, Op};
use super::which;
use crate::auth::{Caller, Role};
use crate::events::{Cursor, Follow, Lane, Shown};
use crate::problem::Problem;

pub(super) fn routes(api: Api) -> Api {
    let what = "Events of the journal as they happen; `Last-Event-ID` or `after` resumes without a \
                gap. `gap` says that the reader was too slow and from where to go on, `restart` \
                that the server ends.";
    api.op(
        Op::get("/api/v1/events", "followAll", "What happens in all projects")
            .query::<From>()
            .streams(what),
        get(everything),
    )
    .op(
        Op::get("/api/v1/projects/{project}/events", "followProject", "What happens in a project")
            .query::<From>()
            .streams(what)
            .problem(StatusCode::NOT_FOUND, "There is no such project."),
        get(of_project),
    )
    .op(
        Op::get("/api/v1/builds/{build}/events", "followBuild", "What happens in a build")
            .query::<FromIn>()
            .streams(what)
            .problem(StatusCode::NOT_FOUND, "There is no such build."),
        get(of_build),
    )
    .op(
        Op::get("/api/v1/news", "followNews", "That something happened, and nothing else")
            .takes(Role::Answerer)
            .query::<From>()
            .streams("`news` whenever there is something to read again."),
        get(news),
    )
}

/// The position to start from.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct From {
    /// The id of the last event that was read, for clients that cannot send `Last-Event-ID`.
    after: Option<String>,
}

/// The position to start from, and the project.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FromIn {
    /// The project. Not needed if there is only one.
    project: Option<String>,
    /// The id of the last event that was read, for clients that cannot send `Last-Event-ID`.
    after: Option<String>,
}

async fn everything(
    State(site): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Asks(from): Asks<From>,
) -> Result<Response, Problem> {
    all(&site, &caller, &headers, from.after, Shown::All)
}

async fn news(
    State(site): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Asks(from): Asks<From>,
) -> Result<Response, Problem> {
    all(&site, &caller, &headers, from.after, Shown::Hints)
}

fn all(
    site: &Shared,
    caller: &Caller,
    headers: &HeaderMap,
    after: Option<String>,
    shown: Shown,
) -> Result<Response, Problem> {
    let cursor = match last(headers, after) {
        Some(text) => Some(Cursor::of_all(&text).ok_or_else(no_position)?),
        None => None,
    };
    let lanes = site.seen_by(caller).map(|room| Lane::new(room.hub.clone(), cursor.as_ref()));
    let lanes = lanes.collect();
    let news = site.tick.subscribe();
    let stop = site.stop.clone();
    Ok(stream(Follow { lanes, shown, news, stop, plain: false }))
}

async fn of_project(
    State(site): State<Shared>,
    caller: Caller,
    Path(project): Path<String>,
    headers: HeaderMap,
    Asks(from): Asks<From>,
) -> Result<Response, Problem> {
    one(&site, &caller, Some(&project), last(&headers, from.after), Shown::All)
}

async fn of_build(
    State(site): State<Shared>,
    caller: Caller,
    Path(build): Path<String>,
    headers: HeaderMap,
    Asks(from): Asks<FromIn>,
) -> Result<Response, Problem> {
    let room = which::room(&site, &caller, from.project.as_deref())?;
    let build = build_of(&room, BuildId(which::number("build", 'b', &build)?)).await?.id;
    let after = last(&headers, from.after);
    one(&site, &caller, Some(&room.name), after, Shown::Build(build))
}

fn one(
    site: &Shared,
    caller: &Caller,
    project: Option<&str>,
    after: Option<String>,
    shown: Shown,
) -> Result<Response, Problem> {
    let room = which::room(site, caller, project)?;
    let cursor = match after {
        Some(text) => Some(Cursor::of_one(&room.name, &text).ok_or_else(no_position)?),
        None => None,
    };
    let lanes = vec![Lane::new(room.hub.clone(), cursor.as_ref())];
    let news = room.hub.head();
    let stop = site.stop.clone();
    Ok(stream(Follow { lanes, shown, news, stop, plain: true }))
}

/// Returns the position that the client has read last.
fn last(headers: &HeaderMap, after: Option<String>) -> Option<String> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    header.filter(|text| !text.is_empty()).map(str::to_owned).or(after)
}

fn no_position() -> Problem {
    let detail = "this is no position in a stream of events";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
        .hint("give the `id` of the last event you have read, or none to begin now")
}

fn stream(follow: Follow) -> Response {
    let mut response = Response::new(Body::from_stream(follow.stream()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Buffering proxies would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

//! Live events as server-sent streams.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Deserialize;
use unstuck_core::engine::BuildId;

use super::builds::load_build;
use super::docs::{ApiOperation, ApiRouter};
use super::request::ApiQueryParams;
use super::resolve;
use crate::auth::{AccessRole, Caller};
use crate::events::{EventStreamCursor, EventStreamFilter, EventStreamReader, FollowedProject};
use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let what = "Events of the journal as they happen; `Last-Event-ID` or `after` resumes without a \
                gap. `gap` says that the reader was too slow and from where to go on, `restart` \
                that the server ends.";
    api.add_operation(
        ApiOperation::get("/api/v1/events", "followAll", "What happens in all projects")
            .with_query::<ApiEventsQuery>()
            .with_event_stream(what),
        get(follow_all_projects).layer(Extension(EventStreamFilter::All)),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/projects/{project}/events",
            "followProject",
            "What happens in a project",
        )
        .with_query::<ApiEventsQuery>()
        .with_event_stream(what)
        .with_problem(StatusCode::NOT_FOUND, "There is no such project."),
        get(follow_project),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/builds/{build}/events",
            "followBuild",
            "What happens in a build",
        )
        .with_query::<ApiBuildEventsQuery>()
        .with_event_stream(what)
        .with_problem(StatusCode::NOT_FOUND, "There is no such build."),
        get(follow_build),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/news",
            "followNews",
            "That something happened, and nothing else",
        )
        .with_role(AccessRole::Answerer)
        .with_query::<ApiEventsQuery>()
        .with_event_stream("`news` whenever there is something to read again."),
        get(follow_all_projects).layer(Extension(EventStreamFilter::Hints)),
    )
}

/// The position to start from.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApiEventsQuery {
    /// The id of the last event that was read, for clients that cannot send `Last-Event-ID`.
    after: Option<String>,
}

/// The position to start from, and the project.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApiBuildEventsQuery {
    /// The project. Not needed if there is only one.
    project: Option<String>,
    /// The id of the last event that was read, for clients that cannot send `Last-Event-ID`.
    after: Option<String>,
}

async fn follow_all_projects(
    State(site): State<SharedServerState>,
    caller: Caller,
    headers: HeaderMap,
    Extension(filter): Extension<EventStreamFilter>,
    ApiQueryParams(from): ApiQueryParams<ApiEventsQuery>,
) -> Result<Response, Problem> {
    let cursor = match last_event_id(&headers, from.after) {
        Some(text) => {
            Some(EventStreamCursor::parse_opaque(&text).ok_or_else(invalid_position_error)?)
        }
        None => None,
    };
    let lanes = site
        .visible_projects(&caller)
        .map(|hosted| FollowedProject::new(hosted.hub.clone(), cursor.as_ref()));
    let lanes = lanes.collect();
    let news = site.tick.subscribe();
    let stop = site.stop.clone();
    Ok(stream_response(EventStreamReader { lanes, filter, news, stop, plain: false }))
}

async fn follow_project(
    State(site): State<SharedServerState>,
    caller: Caller,
    Path(project): Path<String>,
    headers: HeaderMap,
    ApiQueryParams(from): ApiQueryParams<ApiEventsQuery>,
) -> Result<Response, Problem> {
    let hosted = resolve::find_project(&site, &caller, Some(&project))?;
    let after = last_event_id(&headers, from.after);
    stream_one_project(&site, &hosted, after, EventStreamFilter::All)
}

async fn follow_build(
    State(site): State<SharedServerState>,
    caller: Caller,
    Path(build): Path<String>,
    headers: HeaderMap,
    ApiQueryParams(from): ApiQueryParams<ApiBuildEventsQuery>,
) -> Result<Response, Problem> {
    let hosted = resolve::find_project(&site, &caller, from.project.as_deref())?;
    let build =
        load_build(&hosted, BuildId(resolve::parse_number("build", 'b', &build)?)).await?.id;
    let after = last_event_id(&headers, from.after);
    stream_one_project(&site, &hosted, after, EventStreamFilter::Build(build))
}

fn stream_one_project(
    site: &SharedServerState,
    hosted: &HostedProject,
    after: Option<String>,
    filter: EventStreamFilter,
) -> Result<Response, Problem> {
    let cursor = match after {
        Some(text) => Some(
            EventStreamCursor::parse_number(&hosted.name, &text)
                .ok_or_else(invalid_position_error)?,
        ),
        None => None,
    };
    let lanes = vec![FollowedProject::new(hosted.hub.clone(), cursor.as_ref())];
    let news = hosted.hub.subscribe_head();
    let stop = site.stop.clone();
    Ok(stream_response(EventStreamReader { lanes, filter, news, stop, plain: true }))
}

/// Returns the position that the client has read last.
fn last_event_id(headers: &HeaderMap, after: Option<String>) -> Option<String> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    header.filter(|text| !text.is_empty()).map(str::to_owned).or(after)
}

fn invalid_position_error() -> Problem {
    let detail = "this is no position in a stream of events";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
        .with_hint("give the `id` of the last event you have read, or none to begin now")
}

fn stream_response(follow: EventStreamReader) -> Response {
    let mut response = Response::new(Body::from_stream(follow.into_stream()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Buffering proxies would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

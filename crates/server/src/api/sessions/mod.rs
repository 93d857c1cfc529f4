//! Sessions for other runtimes: they do the work, and report its outcome here.
//!
//! A session is a build with one task. Every report becomes a command of the engine; the response
//! is read from the state after it. Nothing is decided here.

mod intents;
mod outcomes;
mod record;
mod report;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Command};
use unstuck_core::plan::{GateKey, Plan, SessionSpec, TaskSpec};
use unstuck_core::text::brief::plain_line;

use crate::api::docs::{ApiOperation, ApiRouter};
use crate::api::request::{ApiJsonBody, ApiQueryParams, LongPoll};
use crate::api::{request, resolve, respond_with_etag};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

use record::{ApiSessionDirection, ApiSessionTask, SessionRecord};

const TASK: &str = "session";
const GOAL_CHARS_MAX: usize = 10_000;
/// Maximum length of a title, in characters, also of one that is derived from the goal.
const TITLE_CHARS_MAX: usize = 120;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let api = add_session_routes(api);
    let api = report::add_routes(api);
    let api = intents::add_routes(api);
    outcomes::add_routes(api)
}

fn add_session_routes(api: ApiRouter) -> ApiRouter {
    api.add_operation(
        ApiOperation::post(
            "/api/v1/sessions",
            "openSession",
            "Open a session for a runtime elsewhere",
        )
        .with_request_key(false)
        .with_body::<OpenSessionRequest>()
        .with_response::<SessionRecord>(201, "The session; `Location` is its address.")
        .with_problem(StatusCode::NOT_FOUND, "There is no such project.")
        .with_problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "It has no goal, or the key was sent with something else.",
        ),
        post(open_session),
    )
    .add_operation(
        ApiOperation::get(
            "/api/v1/sessions/{session}",
            "getSession",
            "One session; may wait until its runtime has something to do",
        )
        .with_query::<ApiSessionQuery>()
        .with_response::<SessionRecord>(200, "The session.")
        .with_problem(StatusCode::NOT_FOUND, "There is no such session."),
        get(get_session),
    )
}

/// The parameters of a new session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenSession")]
struct OpenSessionRequest {
    /// The project. Not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// The goal, up to 10,000 characters.
    goal: String,
    /// The title that people read, up to 120 characters; by default the beginning of the goal.
    #[serde(default)]
    title: Option<String>,
}

/// The parameters of a request for one session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ApiSessionQuery {
    /// The project. Not needed if there is only one.
    project: Option<String>,
    /// Seconds to wait until the runtime has something to do, at most 55.
    wait: Option<u64>,
}

async fn open_session(
    State(site): State<SharedServerState>,
    caller: Caller,
    headers: HeaderMap,
    ApiJsonBody(wanted): ApiJsonBody<OpenSessionRequest>,
) -> Result<Response, Problem> {
    let hosted = resolve::find_project(&site, &caller, wanted.project.as_deref())?;
    let request = request::parse_request_key(&headers, "session", &wanted)?;
    let task = make_task_spec(&hosted, &wanted)?;
    let plan = Plan::new(vec![task])
        .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
    let build = hosted.host.submit_build_start(start, caller.to_issuer(request)).await?;
    let record = ApiSessionTask::find_by_id(&hosted, build).await?.into_record(&hosted).await?;
    let place = session_address(&hosted, record.id());
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(record)).into_response())
}

fn session_address(hosted: &HostedProject, build: BuildId) -> String {
    let project = utf8_percent_encode(&hosted.name, NON_ALPHANUMERIC);
    format!("/api/v1/sessions/{build}?project={project}")
}

fn make_task_spec(
    hosted: &HostedProject,
    wanted: &OpenSessionRequest,
) -> Result<TaskSpec, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let goal = wanted.goal.trim();
    if goal.is_empty() {
        return Err(wrong("a session needs a `goal`".to_owned())
            .with_hint("say in a sentence what is to be reached: it is in every context"));
    }
    if goal.chars().count() > GOAL_CHARS_MAX {
        return Err(wrong(format!("`goal` is longer than {GOAL_CHARS_MAX} characters")));
    }
    let given = wanted.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    if given.is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(wrong(format!("`title` is longer than {TITLE_CHARS_MAX} characters")));
    }
    // Both are stored and shown: a key belongs into the environment.
    let goal = hosted.host.redact_text(goal);
    let title = match given {
        Some(title) => plain_line(&hosted.host.redact_text(title)),
        None => plain_line(&title_from_goal(&goal)),
    };
    Ok(TaskSpec {
        name: TASK.to_owned(),
        title,
        goal: goal.to_string(),
        gate: random_gate_key()?,
        session: Some(SessionSpec::default()),
        ..TaskSpec::default()
    })
}

/// Returns the first line of a goal, shortened to a title.
fn title_from_goal(goal: &str) -> String {
    let line = goal.lines().next().unwrap_or_default();
    match line.char_indices().nth(TITLE_CHARS_MAX - 1) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Returns a random gate key: the account of a remote runtime is not known, so each session waits
/// alone.
fn random_gate_key() -> Result<GateKey, Problem> {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(GateKey(u64::from_le_bytes(bytes))),
        Err(_) => {
            let detail = "the system has no random numbers just now";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).with_retry_after(1))
        }
    }
}

async fn get_session(
    State(site): State<SharedServerState>,
    caller: Caller,
    Path(session): Path<String>,
    headers: HeaderMap,
    ApiQueryParams(how): ApiQueryParams<ApiSessionQuery>,
) -> Result<Response, Problem> {
    let patience = LongPoll::from_wait(how.wait)?;
    let hosted = resolve::find_project(&site, &caller, how.project.as_deref())?;
    let ApiSessionTask { task } = ApiSessionTask::find_by_name(&hosted, &session).await?;
    let read = || ApiSessionDirection::load_for_task(&hosted, &task);
    patience.read_until(&site, &hosted, read, ApiSessionDirection::is_settled).await?;
    let record =
        ApiSessionTask::find_by_name(&hosted, &session).await?.into_record(&hosted).await?;
    Ok(respond_with_etag(&headers, &record))
}

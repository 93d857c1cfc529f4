//! Opens sessions, and returns their records.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, Command};
use unstuck_core::plan::{GateKey, Plan, SessionSpec, TaskSpec};
use unstuck_core::text::brief::plain_line;

use super::directed::Directed;
use super::record::{Found, SessionRecord};
use crate::api::body::{Asks, Body};
use crate::api::docs::{Api, Op};
use crate::api::patience::Patience;
use crate::api::{Shared, cached, request_key, which};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::site::Room;

/// The name of the one task of a session.
const TASK: &str = "session";
/// Maximum length of a goal, in characters.
const GOAL_CHARS_MAX: usize = 10_000;
/// Maximum length of a title, in characters, also of one that is derived from the goal.
const TITLE_CHARS_MAX: usize = 120;

pub(super) fn routes(api: Api) -> Api {
    api.op(
        Op::post("/api/v1/sessions", "openSession", "Open a session for a runtime elsewhere")
            .header(request_key::NAME, false, request_key::SAYS)
            .body::<Open>()
            .gives::<SessionRecord>(201, "The session; `Location` is its address.")
            .problem(StatusCode::NOT_FOUND, "There is no such project.")
            .problem(
                StatusCode::UNPROCESSABLE_ENTITY,
                "It has no goal, or the key was sent with something else.",
            ),
        post(open),
    )
    .op(
        Op::get(
            "/api/v1/sessions/{session}",
            "getSession",
            "One session; may wait until its runtime has something to do",
        )
        .query::<One>()
        .gives::<SessionRecord>(200, "The session.")
        .problem(StatusCode::NOT_FOUND, "There is no such session."),
        get(one),
    )
}

/// The parameters of a new session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenSession")]
struct Open {
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
struct One {
    /// The project. Not needed if there is only one.
    project: Option<String>,
    /// Seconds to wait until the runtime has something to do, at most 55.
    wait: Option<u64>,
}

async fn open(
    State(site): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Body(wanted): Body<Open>,
) -> Result<Response, Problem> {
    let room = which::room(&site, &caller, wanted.project.as_deref())?;
    let request = request_key::of(&headers, "session", &wanted)?;
    let task = task(&room, &wanted)?;
    let plan = Plan::new(vec![task])
        .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
    let build = room.desk.begin(start, caller.order(request)).await?;
    let record = Found::numbered(&room, build).await?.record(&room).await?;
    let place = address(&room, record.id());
    let mut response = (StatusCode::CREATED, Json(record)).into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Returns the URL path of a session.
fn address(room: &Room, build: BuildId) -> String {
    let project = utf8_percent_encode(&room.name, NON_ALPHANUMERIC);
    format!("/api/v1/sessions/{build}?project={project}")
}

fn task(room: &Room, wanted: &Open) -> Result<TaskSpec, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let goal = wanted.goal.trim();
    if goal.is_empty() {
        return Err(wrong("a session needs a `goal`".to_owned())
            .hint("say in a sentence what is to be reached: it is in every context"));
    }
    if goal.chars().count() > GOAL_CHARS_MAX {
        return Err(wrong(format!("`goal` is longer than {GOAL_CHARS_MAX} characters")));
    }
    let given = wanted.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    if given.is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(wrong(format!("`title` is longer than {TITLE_CHARS_MAX} characters")));
    }
    // Both are stored and shown: a key belongs into the environment.
    let goal = room.desk.redacted(goal);
    let title = match given {
        Some(title) => plain_line(&room.desk.redacted(title)),
        None => plain_line(&beginning(&goal)),
    };
    Ok(TaskSpec {
        name: TASK.to_owned(),
        title,
        goal: goal.to_string(),
        gate: gate()?,
        session: Some(SessionSpec::default()),
        ..TaskSpec::default()
    })
}

/// Returns the first line of a goal, shortened to a title.
fn beginning(goal: &str) -> String {
    let line = goal.lines().next().unwrap_or_default();
    match line.char_indices().nth(TITLE_CHARS_MAX - 1) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Returns a random gate key: the account of a remote runtime is not known, so each session waits
/// alone.
fn gate() -> Result<GateKey, Problem> {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(GateKey(u64::from_le_bytes(bytes))),
        Err(_) => {
            let detail = "the system has no random numbers just now";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(1))
        }
    }
}

async fn one(
    State(site): State<Shared>,
    caller: Caller,
    Path(session): Path<String>,
    headers: HeaderMap,
    Asks(how): Asks<One>,
) -> Result<Response, Problem> {
    let patience = Patience::of(how.wait)?;
    let room = which::room(&site, &caller, how.project.as_deref())?;
    let Found { task } = Found::named(&room, &session).await?;
    let read = || Directed::read(&room, &task);
    patience.read(&site, &room, read, Directed::is_settled).await?;
    let record = Found::named(&room, &session).await?.record(&room).await?;
    Ok(cached(&headers, &record))
}

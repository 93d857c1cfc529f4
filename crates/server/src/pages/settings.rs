//! The settings page: access tokens, and tests of notifications.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use unstuck_core::time::Span;
use unstuck_runner::notify::Tested;

use super::frame::{Frame, Here, page_with};
use super::words::When;
use super::{Fail, room};
use crate::api::Shared;
use crate::auth::{AccessError, Caller, Csrf, Door, NewToken, Reach, Role, TokenEntry};
use crate::problem::{Problem, sentence};

/// Maximum lifetime of a token that is made here and expires, in days.
const DAYS_MAX: u64 = 3_650;

pub(super) fn routes(door: Arc<Door>) -> Router<Shared> {
    Router::new()
        .route("/settings", get(settings))
        .route("/settings/tokens", post(make))
        .route("/settings/tokens/{id}/revoke", post(revoke))
        .route("/settings/notify/{project}", post(notify))
        .layer(Extension(door))
}

type AtDoor = Extension<Arc<Door>>;

#[derive(Template)]
#[template(path = "settings.html")]
struct Settings {
    frame: Frame,
    rows: Vec<Row>,
    projects: Vec<Arc<str>>,
    /// The token that was just made, shown once.
    made: Option<Made>,
    problem: Option<String>,
    told: Option<Told>,
}

/// The outcome of a form.
#[derive(Default)]
struct Came {
    made: Option<Made>,
    problem: Option<AccessError>,
    told: Option<Told>,
}

/// Test messages that were sent.
struct Told {
    project: String,
    ways: Vec<Way>,
}

/// A notification channel, and the reason why its message was not delivered.
struct Way {
    name: String,
    why_not: Option<String>,
}

struct Row {
    id: String,
    name: String,
    role: Role,
    projects: String,
    made: When,
    expires: Option<When>,
    expired: bool,
}

struct Made {
    name: String,
    token: String,
}

/// Checks that a caller may make tokens: only one with access to all projects, because it could
/// make a token for all of them.
fn may(caller: &Caller) -> Result<(), Problem> {
    caller.needs(Role::Operator)?;
    if caller.reach == Reach::All {
        return Ok(());
    }
    let detail = "tokens are made by those who may see all projects";
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

async fn settings(
    State(site): State<Shared>,
    door: AtDoor,
    caller: Caller,
    csrf: Csrf,
) -> Result<Response, Fail> {
    may(&caller)?;
    shown(&site, &door, &caller, &csrf, None).await
}

async fn shown(
    site: &Shared,
    door: &Door,
    caller: &Caller,
    csrf: &Csrf,
    came: Option<Came>,
) -> Result<Response, Fail> {
    let frame = Frame::new(site, caller, csrf, Here::Settings, "Settings").await?;
    let frame = if came.is_some() { frame.answering_form() } else { frame };
    let Came { made, problem, told } = came.unwrap_or_default();
    let entries = door.tokens().list().map_err(|error| unusable(&error))?;
    let rows = entries.iter().map(|entry| row(entry, &frame)).collect();
    let projects = site.rooms().map(|room| Arc::clone(&room.name)).collect();
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let problem = problem.map(|error| {
        let detail = error.to_string();
        Problem::new(status, detail).hint(error.hint()).sentences()
    });
    Ok(page_with(status, &Settings { frame, rows, projects, made, problem, told }))
}

fn row(entry: &TokenEntry, frame: &Frame) -> Row {
    let projects = match &entry.reach {
        Reach::All => "all projects".to_owned(),
        Reach::Only(names) => names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", "),
    };
    Row {
        id: entry.id.to_string(),
        name: entry.name.clone(),
        role: entry.role,
        projects,
        made: When::new(entry.created_at, frame.now),
        expires: entry.expires_at.map(|at| When::new(at, frame.now)),
        expired: !entry.is_good(frame.now),
    }
}

/// The fields of the token form.
#[derive(Deserialize)]
struct Wish {
    name: String,
    role: Role,
    /// The project; empty for all.
    #[serde(default)]
    project: String,
    /// The lifetime in days; empty for an unlimited one.
    #[serde(default)]
    days: String,
}

async fn make(
    State(site): State<Shared>,
    door: AtDoor,
    caller: Caller,
    csrf: Csrf,
    Form(wish): Form<Wish>,
) -> Result<Response, Fail> {
    may(&caller)?;
    let reach = match wish.project.trim() {
        "" => Reach::All,
        name => Reach::Only(BTreeSet::from([Arc::from(name)])),
    };
    let now = site.clock.now();
    let expires_at = match wish.days.trim() {
        "" => None,
        days => {
            let days = days.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days));
            let days: u64 = days.ok_or_else(|| {
                let detail = format!("the days are a number from 1 to {DAYS_MAX}");
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
            })?;
            Some(now + Span::from_hours(days * 24))
        }
    };
    let new = NewToken { name: wish.name, role: wish.role, reach, expires_at };
    match door.tokens().make(new, now) {
        Ok((entry, token)) => {
            tracing::info!(by = %caller.name, token = %entry.id, "a token was made");
            let made = Made { name: entry.name, token: token.as_str().to_owned() };
            let came = Came { made: Some(made), ..Came::default() };
            shown(&site, &door, &caller, &csrf, Some(came)).await
        }
        Err(error) => {
            let came = Came { problem: Some(error), ..Came::default() };
            shown(&site, &door, &caller, &csrf, Some(came)).await
        }
    }
}

/// Sends a test message through each channel of a project.
async fn notify(
    State(site): State<Shared>,
    door: AtDoor,
    caller: Caller,
    csrf: Csrf,
    Path(project): Path<String>,
) -> Result<Response, Fail> {
    may(&caller)?;
    let room = room(&site, &caller, &project)?;
    let way = |tested: Tested| Way {
        name: tested.channel,
        why_not: tested
            .arrived
            .err()
            .map(|error| sentence(&room.desk.redacted(&error.to_string()))),
    };
    let ways = room.desk.test_notifications().await?.into_iter().map(way).collect();
    let came = Came { told: Some(Told { project, ways }), ..Came::default() };
    shown(&site, &door, &caller, &csrf, Some(came)).await
}

async fn revoke(door: AtDoor, caller: Caller, Path(id): Path<String>) -> Result<Response, Fail> {
    may(&caller)?;
    let id = id.parse().map_err(|_| Problem::unknown("token", &id))?;
    match door.tokens().revoke(id) {
        Ok(entry) => {
            tracing::info!(by = %caller.name, token = %entry.id, "a token was taken back");
            Ok(Redirect::to("/settings").into_response())
        }
        Err(AccessError::UnknownToken(id)) => Err(Problem::unknown("token", id).into()),
        Err(error) => Err(unusable(&error).into()),
    }
}

fn unusable(error: &AccessError) -> Problem {
    tracing::warn!(%error, "who is let in cannot be read or changed");
    let detail = "who is let in cannot be read or changed just now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        .hint("`unstuck token list` on the server says what is wrong")
}

//! The settings page: access tokens, and tests of notifications.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use unstuck_core::time::Span;
use unstuck_runner::notify::ChannelTestResult;

use super::PageError;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use crate::auth::{
    AccessError, AccessRole, Authenticator, Caller, NewToken, ProjectVisibility, TokenEntry,
};
use crate::html::render_page_with_status;
use crate::problem::{Problem, to_sentence};
use crate::server_state::SharedServerState;

/// Maximum lifetime of a token that is made here and expires, in days.
const DAYS_MAX: u64 = 3_650;

pub(super) fn settings_routes(authenticator: Arc<Authenticator>) -> Router<SharedServerState> {
    Router::new()
        .route("/settings", get(show_settings))
        .route("/settings/tokens", post(create_token))
        .route("/settings/tokens/{id}/revoke", post(revoke_token))
        .route("/settings/notify/{project}", post(send_test_messages))
        .layer(Extension(authenticator))
}

type SettingsAuthExtension = Extension<Arc<Authenticator>>;

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    frame: PageFrame,
    rows: Vec<SettingsTokenRow>,
    projects: Vec<Arc<str>>,
    /// The token that was just made, shown once.
    made: Option<CreatedToken>,
    problem: Option<String>,
    told: Option<SettingsTestMessages>,
}

#[derive(Default)]
struct SettingsFormResult {
    made: Option<CreatedToken>,
    problem: Option<AccessError>,
    told: Option<SettingsTestMessages>,
}

struct SettingsTestMessages {
    project: String,
    ways: Vec<SettingsChannelTest>,
}

/// A notification channel, and the reason why its message was not delivered.
struct SettingsChannelTest {
    name: String,
    why_not: Option<String>,
}

struct SettingsTokenRow {
    id: String,
    name: String,
    role: AccessRole,
    projects: String,
    made: TimeLabel,
    expires: Option<TimeLabel>,
    expired: bool,
}

struct CreatedToken {
    name: String,
    token: String,
}

/// Checks that a caller may make tokens: only one with access to all projects, because it could
/// make a token for all of them.
fn require_token_admin(caller: &Caller) -> Result<(), Problem> {
    caller.require_role(AccessRole::Operator)?;
    if caller.reach == ProjectVisibility::All {
        return Ok(());
    }
    let detail = "tokens are made by those who may see all projects";
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

async fn show_settings(
    request: PageRequest,
    authenticator: SettingsAuthExtension,
) -> Result<Response, PageError> {
    require_token_admin(&request.caller)?;
    render_settings(&request, &authenticator, None).await
}

async fn render_settings(
    request: &PageRequest,
    authenticator: &Authenticator,
    came: Option<SettingsFormResult>,
) -> Result<Response, PageError> {
    let frame = PageFrame::new(request, SiteSection::Settings, "Settings").await?;
    let frame = if came.is_some() { frame.answering_form() } else { frame };
    let SettingsFormResult { made, problem, told } = came.unwrap_or_default();
    let entries =
        authenticator.tokens().list_entries().map_err(|error| tokens_unavailable_error(&error))?;
    let rows = entries.iter().map(|entry| token_row(entry, &frame)).collect();
    let projects = request.site.all_projects().map(|hosted| Arc::clone(&hosted.name)).collect();
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let problem = problem.map(|error| {
        let detail = error.to_string();
        Problem::new(status, detail).with_hint(error.hint()).to_sentences()
    });
    Ok(render_page_with_status(
        status,
        &SettingsPage { frame, rows, projects, made, problem, told },
    ))
}

fn token_row(entry: &TokenEntry, frame: &PageFrame) -> SettingsTokenRow {
    let projects = match &entry.reach {
        ProjectVisibility::All => "all projects".to_owned(),
        ProjectVisibility::Only(names) => {
            names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
        }
    };
    SettingsTokenRow {
        id: entry.id.to_string(),
        name: entry.name.clone(),
        role: entry.role,
        projects,
        made: TimeLabel::new(entry.created_at, frame.now),
        expires: entry.expires_at.map(|at| TimeLabel::new(at, frame.now)),
        expired: !entry.is_valid(frame.now),
    }
}

#[derive(Deserialize)]
struct NewTokenForm {
    name: String,
    role: AccessRole,
    /// The project; empty for all.
    #[serde(default)]
    project: String,
    /// The lifetime in days; empty for an unlimited one.
    #[serde(default)]
    days: String,
}

async fn create_token(
    request: PageRequest,
    authenticator: SettingsAuthExtension,
    Form(wish): Form<NewTokenForm>,
) -> Result<Response, PageError> {
    require_token_admin(&request.caller)?;
    let reach = match wish.project.trim() {
        "" => ProjectVisibility::All,
        name => ProjectVisibility::Only(BTreeSet::from([Arc::from(name)])),
    };
    let now = request.site.clock.now();
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
    let result = match authenticator.tokens().create_token(new, now) {
        Ok((entry, token)) => {
            tracing::info!(by = %request.caller.name, token = %entry.id, "a token was made");
            let made = CreatedToken { name: entry.name, token: token.as_str().to_owned() };
            SettingsFormResult { made: Some(made), ..SettingsFormResult::default() }
        }
        Err(error) => SettingsFormResult { problem: Some(error), ..SettingsFormResult::default() },
    };
    render_settings(&request, &authenticator, Some(result)).await
}

async fn send_test_messages(
    request: PageRequest,
    authenticator: SettingsAuthExtension,
    Path(project): Path<String>,
) -> Result<Response, PageError> {
    require_token_admin(&request.caller)?;
    let hosted = request.find_project(&project)?;
    let way = |tested: ChannelTestResult| SettingsChannelTest {
        name: tested.channel,
        why_not: tested
            .arrived
            .err()
            .map(|error| to_sentence(&hosted.host.redact_text(&error.to_string()))),
    };
    let ways = hosted.host.test_notifications().await?.into_iter().map(way).collect();
    let told = Some(SettingsTestMessages { project, ways });
    let result = SettingsFormResult { told, ..SettingsFormResult::default() };
    render_settings(&request, &authenticator, Some(result)).await
}

async fn revoke_token(
    authenticator: SettingsAuthExtension,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    require_token_admin(&caller)?;
    let id = id.parse().map_err(|_| Problem::not_found("token", &id))?;
    match authenticator.tokens().revoke_token(id) {
        Ok(entry) => {
            tracing::info!(by = %caller.name, token = %entry.id, "a token was taken back");
            Ok(Redirect::to("/settings").into_response())
        }
        Err(AccessError::UnknownToken(id)) => Err(Problem::not_found("token", id).into()),
        Err(error) => Err(tokens_unavailable_error(&error).into()),
    }
}

fn tokens_unavailable_error(error: &AccessError) -> Problem {
    tracing::warn!(%error, "who is let in cannot be read or changed");
    let detail = "who is let in cannot be read or changed just now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        .with_hint("`unstuck token list` on the server says what is wrong")
}

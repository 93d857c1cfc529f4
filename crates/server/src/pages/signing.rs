//! Signing in and out, and the links in messages.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use unstuck_core::engine::QuestionId;

use super::frame::page_with;
use super::{Fail, assets, encoded};
use crate::api::{Asked, Choice, Shared, give, read_asked};
use crate::auth::Caller;
use crate::auth::{ChoiceLink, Door, Followed, LocalPath, Login, LoginForm, LoginPage, Visit};
use crate::problem::Problem;

/// Returns the routes for authenticated people.
pub(super) fn inside(door: Arc<Door>) -> Router<Shared> {
    Router::new().route("/logout", post(log_out)).layer(axum::Extension(door))
}

/// Returns the public routes.
pub(crate) fn routes(door: Arc<Door>) -> Router<Shared> {
    Router::new()
        .route("/login", get(login_page).post(log_in))
        .route("/enter/{code}", get(enter))
        .route("/link/{code}", get(follow).post(choose))
        .layer(axum::Extension(door))
}

type AtDoor = axum::Extension<Arc<Door>>;

#[derive(Template)]
#[template(path = "login.html")]
struct SignIn {
    next: String,
    problem: Option<String>,
    style: &'static str,
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    project: String,
    code: String,
    asked: Asked,
    /// The choice, and its consequence.
    label: String,
    description: String,
    guides: bool,
    problem: Option<String>,
    done: bool,
    style: &'static str,
}

#[derive(Debug, Default, Deserialize)]
struct Next {
    next: Option<String>,
}

async fn login_page(door: AtDoor, caller: Option<Caller>, Query(next): Query<Next>) -> Response {
    shown(door.login_page(caller.as_ref(), next.next.as_deref()))
}

async fn log_in(door: AtDoor, visit: Visit, Form(form): Form<LoginForm>) -> Response {
    shown(door.log_in(&visit, &form))
}

fn shown(login: Login) -> Response {
    let LoginPage { next, problem } = match login {
        Login::In(response) => return response,
        Login::Page(page) => page,
    };
    let status = problem.as_ref().and_then(|problem| StatusCode::from_u16(problem.status()).ok());
    let problem = problem.as_ref().map(Problem::sentences);
    let page = SignIn { next: next.as_str().to_owned(), problem, style: assets::style() };
    page_with(status.unwrap_or(StatusCode::OK), &page)
}

async fn log_out(door: AtDoor, visit: Visit) -> Result<Response, Fail> {
    Ok(door.log_out(&visit)?)
}

async fn enter(door: AtDoor, visit: Visit, Path(code): Path<String>) -> Result<Response, Fail> {
    Ok(door.enter(&visit, &code)?)
}

/// Shows the target of a link in a message. Following the link answers nothing.
async fn follow(
    State(site): State<Shared>,
    door: AtDoor,
    visit: Visit,
    caller: Option<Caller>,
    Path(code): Path<String>,
) -> Result<Response, Fail> {
    match door.follow(&visit, caller.as_ref(), &code)? {
        Followed::Questions(link, entered) => {
            let questions = format!("/#{}", encoded(&link.project));
            Ok(entered.to(&LocalPath::or_first(Some(&questions))))
        }
        Followed::Confirm(link) => confirm(&site, &link, code, None, false).await,
    }
}

/// The fields of the confirmation form.
#[derive(Debug, Default, Deserialize)]
struct Chosen {
    #[serde(default)]
    guidance: String,
}

/// Answers a question with the choice of a link, after confirmation.
async fn choose(
    State(site): State<Shared>,
    door: AtDoor,
    visit: Visit,
    caller: Option<Caller>,
    Path(code): Path<String>,
    Form(chosen): Form<Chosen>,
) -> Result<Response, Fail> {
    let Followed::Confirm(link) = door.follow(&visit, caller.as_ref(), &code)? else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "this link chooses nothing").into());
    };
    let by = link.caller();
    let room = super::room(&site, &by, &link.project)?;
    let choice = Choice { decision: link.decision.to_string(), guidance: Some(chosen.guidance) };
    match give(&site, &room, &by, link.question, &choice).await {
        Ok(_) => confirm(&site, &link, code, None, true).await,
        Err(problem) => confirm(&site, &link, code, Some(problem), false).await,
    }
}

async fn confirm(
    site: &Shared,
    link: &ChoiceLink,
    code: String,
    problem: Option<Problem>,
    done: bool,
) -> Result<Response, Fail> {
    let room = super::room(site, &link.caller(), &link.project)?;
    let id: QuestionId = link.question;
    let asked = read_asked(room.store.as_ref(), &room.name, id).await?;
    let asked = asked.ok_or_else(|| Problem::unknown("question", id))?.public();
    let option = asked.row.text.chosen(link.decision, None);
    let (label, description) = option
        .map(|option| (option.label.clone(), option.description.clone()))
        .ok_or_else(|| Problem::new(StatusCode::GONE, "this question offers other choices now"))?;
    let status = problem.as_ref().and_then(|problem| StatusCode::from_u16(problem.status()).ok());
    let page = Confirm {
        project: link.project.clone(),
        code,
        label,
        description,
        guides: link.decision == unstuck_core::question::Decision::ProvideGuidance,
        problem: problem.as_ref().map(Problem::sentences),
        done,
        asked,
        style: assets::style(),
    };
    Ok(page_with(status.unwrap_or(StatusCode::OK), &page))
}

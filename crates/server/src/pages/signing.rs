//! Signing in and out, and the links in messages.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;

use super::{PageError, encode_segment};
use crate::api::{Asked, Choice, record_answer, require_question};
use crate::auth::{
    AuthRequestContext, Authenticator, Caller, ChoiceLink, LocalPath, LoginForm, LoginOutcome,
    LoginPage, SignedLinkTarget,
};
use crate::html;
use crate::html::render_page_with_status;
use crate::problem::Problem;
use crate::server_state::SharedServerState;

pub(super) fn logout_routes(authenticator: Arc<Authenticator>) -> Router<SharedServerState> {
    Router::new().route("/logout", post(log_out)).layer(axum::Extension(authenticator))
}

pub(super) fn login_routes(authenticator: Arc<Authenticator>) -> Router<SharedServerState> {
    Router::new()
        .route("/login", get(login_page).post(log_in))
        .route("/enter/{code}", get(enter_by_link))
        .route("/link/{code}", get(follow_link).post(confirm_choice))
        .layer(axum::Extension(authenticator))
}

type AuthExtension = axum::Extension<Arc<Authenticator>>;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginFormPage {
    next: String,
    problem: Option<String>,
    style: &'static str,
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmAnswerPage {
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
struct LoginQuery {
    next: Option<String>,
}

async fn login_page(
    authenticator: AuthExtension,
    caller: Option<Caller>,
    Query(next): Query<LoginQuery>,
) -> Response {
    render_login(authenticator.login_page(caller.as_ref(), next.next.as_deref()))
}

async fn log_in(
    authenticator: AuthExtension,
    visit: AuthRequestContext,
    Form(form): Form<LoginForm>,
) -> Response {
    render_login(authenticator.log_in(&visit, &form))
}

fn render_login(login: LoginOutcome) -> Response {
    let LoginPage { next, problem } = match login {
        LoginOutcome::In(response) => return response,
        LoginOutcome::Page(page) => page,
    };
    let status = problem.as_ref().map_or(StatusCode::OK, Problem::status_code);
    let problem = problem.as_ref().map(Problem::to_sentences);
    let page = LoginFormPage { next: next.as_str().to_owned(), problem, style: html::style_name() };
    render_page_with_status(status, &page)
}

async fn log_out(
    authenticator: AuthExtension,
    visit: AuthRequestContext,
) -> Result<Response, PageError> {
    Ok(authenticator.log_out(&visit)?)
}

async fn enter_by_link(
    authenticator: AuthExtension,
    visit: AuthRequestContext,
    Path(code): Path<String>,
) -> Result<Response, PageError> {
    Ok(authenticator.enter_by_link(&visit, &code)?)
}

/// Shows the target of a link in a message. Following the link answers nothing.
async fn follow_link(
    State(site): State<SharedServerState>,
    authenticator: AuthExtension,
    visit: AuthRequestContext,
    caller: Option<Caller>,
    Path(code): Path<String>,
) -> Result<Response, PageError> {
    match authenticator.follow_link(&visit, caller.as_ref(), &code)? {
        SignedLinkTarget::Questions(link, entered) => {
            let questions = format!("/#{}", encode_segment(&link.project));
            Ok(entered.redirect_to(&LocalPath::parse_or_home(Some(&questions))))
        }
        SignedLinkTarget::Confirm(link) => {
            render_confirmation(&site, &link, code, None, false).await
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct ConfirmForm {
    #[serde(default)]
    guidance: String,
}

/// Answers a question with the choice of a link, after confirmation.
async fn confirm_choice(
    State(site): State<SharedServerState>,
    authenticator: AuthExtension,
    visit: AuthRequestContext,
    caller: Option<Caller>,
    Path(code): Path<String>,
    Form(chosen): Form<ConfirmForm>,
) -> Result<Response, PageError> {
    let SignedLinkTarget::Confirm(link) =
        authenticator.follow_link(&visit, caller.as_ref(), &code)?
    else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "this link chooses nothing").into());
    };
    let by = link.to_caller();
    let hosted = super::find_project(&site, &by, &link.project)?;
    let choice = Choice { decision: link.decision.to_string(), guidance: Some(chosen.guidance) };
    match record_answer(&site, &hosted, &by, link.question, &choice).await {
        Ok(_) => render_confirmation(&site, &link, code, None, true).await,
        Err(problem) => render_confirmation(&site, &link, code, Some(problem), false).await,
    }
}

async fn render_confirmation(
    site: &SharedServerState,
    link: &ChoiceLink,
    code: String,
    problem: Option<Problem>,
    done: bool,
) -> Result<Response, PageError> {
    let hosted = super::find_project(site, &link.to_caller(), &link.project)?;
    let asked = require_question(&hosted, link.question).await?.into_public();
    let option = asked.row.text.find_chosen(link.decision, None);
    let (label, description) = option
        .map(|option| (option.label.clone(), option.description.clone()))
        .ok_or_else(|| Problem::new(StatusCode::GONE, "this question offers other choices now"))?;
    let status = problem.as_ref().map_or(StatusCode::OK, Problem::status_code);
    let page = ConfirmAnswerPage {
        project: link.project.clone(),
        code,
        label,
        description,
        guides: link.decision == unstuck_core::question::Decision::ProvideGuidance,
        problem: problem.as_ref().map(Problem::to_sentences),
        done,
        asked,
        style: html::style_name(),
    };
    Ok(render_page_with_status(status, &page))
}

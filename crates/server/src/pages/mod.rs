//! The pages: rendered on the server, usable without a script, kept fresh by one.

mod activity;
mod assets;
mod build;
mod chart;
mod frame;
mod glance;
mod inbox;
mod jobs;
mod problems;
mod report;
mod settings;
mod signing;
mod task;
mod words;
mod work;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::api::SharedServerState;
use crate::auth::{Authenticator, Caller};
use crate::problem::Problem;
use crate::site::{HostedProject, ServerState};

/// The characters that have to be escaped in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the pages for authenticated people.
pub(crate) fn page_routes(door: &Arc<Authenticator>) -> Router<SharedServerState> {
    Router::new()
        .merge(settings::settings_routes(Arc::clone(door)))
        .merge(signing::logout_routes(Arc::clone(door)))
        .route("/", get(inbox::show_inbox))
        .route("/q/{project}/{question}", get(inbox::show_question).post(inbox::submit_answer))
        .route("/q/{project}/{question}/check", post(inbox::check_question))
        .route("/work", get(work::show_work))
        .route("/work/{project}/{build}", get(build::show_build))
        .route("/work/{project}/{build}/report", get(report::show_report))
        .route("/work/{project}/{build}/{order}", post(build::handle_build_order))
        .route("/work/{project}/{build}/tasks/{task}", get(task::show_task))
        .route("/work/{project}/{build}/tasks/{task}/{order}", post(task::handle_task_order))
        .route("/jobs", get(jobs::show_jobs))
        .route("/jobs/{project}/{job}/{order}", post(jobs::handle_job_order))
        .route("/problems", get(problems::show_problems))
}

pub(crate) use signing::login_routes as signing_in;

/// Returns the public pages.
pub(crate) fn public_routes() -> Router<SharedServerState> {
    assets::asset_routes()
}

/// An error that is shown as a page.
pub(crate) struct PageError(Problem);

#[derive(Template)]
#[template(path = "fail.html")]
struct RequestErrorPage {
    title: &'static str,
    detail: String,
    style: &'static str,
}

impl<E: Into<Problem>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        render_error(&self.0)
    }
}

/// Renders a page with a problem.
pub(crate) fn render_error(problem: &Problem) -> Response {
    let status =
        StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let title = match problem.status() {
        404 => "There is nothing here",
        403 => "That is not for you to do",
        409 => "Not now",
        410 => "That is settled",
        429 => "Too many tries",
        503 => "Not just now",
        _ => "That did not work",
    };
    let page =
        RequestErrorPage { title, detail: problem.to_sentences(), style: assets::style_name() };
    frame::render_page_with_status(status, &page)
}

/// Returns a project that the caller may see.
fn find_project(
    site: &ServerState,
    caller: &Caller,
    name: &str,
) -> Result<Arc<HostedProject>, Problem> {
    site.find_project(caller, name).cloned().ok_or_else(|| Problem::not_found("project", name))
}

/// Percent-encodes a name for a URL.
fn encode_segment(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

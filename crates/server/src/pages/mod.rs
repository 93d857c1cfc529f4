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

use crate::api::Shared;
use crate::auth::{Caller, Door};
use crate::problem::Problem;
use crate::site::{Room, Site};

/// The characters that have to be escaped in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the pages for authenticated people.
pub(crate) fn routes(door: &Arc<Door>) -> Router<Shared> {
    Router::new()
        .merge(settings::routes(Arc::clone(door)))
        .merge(signing::inside(Arc::clone(door)))
        .route("/", get(inbox::inbox))
        .route("/q/{project}/{question}", get(inbox::question).post(inbox::answer))
        .route("/q/{project}/{question}/check", post(inbox::check))
        .route("/work", get(work::work))
        .route("/work/{project}/{build}", get(build::build))
        .route("/work/{project}/{build}/report", get(report::report))
        .route("/work/{project}/{build}/{order}", post(build::order))
        .route("/work/{project}/{build}/tasks/{task}", get(task::task))
        .route("/work/{project}/{build}/tasks/{task}/{order}", post(task::order))
        .route("/jobs", get(jobs::jobs))
        .route("/jobs/{project}/{job}/{order}", post(jobs::order))
        .route("/problems", get(problems::problems))
}

pub(crate) use signing::routes as signing_in;

/// Returns the public pages.
pub(crate) fn open() -> Router<Shared> {
    assets::routes()
}

/// An error that is shown as a page.
pub(crate) struct Fail(Problem);

#[derive(Template)]
#[template(path = "fail.html")]
struct FailPage {
    title: &'static str,
    detail: String,
    style: &'static str,
}

impl<E: Into<Problem>> From<E> for Fail {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Fail {
    fn into_response(self) -> Response {
        fail(&self.0)
    }
}

/// Renders a page with a problem.
pub(crate) fn fail(problem: &Problem) -> Response {
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
    let page = FailPage { title, detail: problem.sentences(), style: assets::style() };
    frame::page_with(status, &page)
}

/// Returns a project that the caller may see.
fn room(site: &Site, caller: &Caller, name: &str) -> Result<Arc<Room>, Problem> {
    site.room(caller, name).cloned().ok_or_else(|| Problem::unknown("project", name))
}

/// Percent-encodes a name for a URL.
fn encoded(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

//! The pages: rendered on the server, usable without a script, kept fresh by one.

mod activity;
mod build;
mod chart;
mod frame;
mod inbox;
mod jobs;
mod problems;
mod report;
mod settings;
mod signing;
mod task;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::auth::{Authenticator, Caller};
use crate::html;
use crate::problem::Problem;
use crate::server_state::{HostedProject, ServerState, SharedServerState};

/// The characters that have to be escaped in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the pages for authenticated people.
pub(crate) fn page_routes(authenticator: &Arc<Authenticator>) -> Router<SharedServerState> {
    Router::new()
        .merge(settings::settings_routes(Arc::clone(authenticator)))
        .merge(signing::logout_routes(Arc::clone(authenticator)))
        .route("/", get(inbox::show_inbox))
        .route("/q/{project}/{question}", get(inbox::show_question).post(inbox::submit_answer))
        .route("/q/{project}/{question}/check", post(inbox::check_question))
        .route("/work", get(work::show_work))
        .route("/work/{project}/{build}", get(build::show_build))
        .route("/work/{project}/{build}/report", get(report::show_report))
        .route("/work/{project}/{build}/{action}", post(build::submit_build_command))
        .route("/work/{project}/{build}/tasks/{task}", get(task::show_task))
        .route("/work/{project}/{build}/tasks/{task}/{action}", post(task::submit_task_command))
        .route("/jobs", get(jobs::show_jobs))
        .route("/jobs/{project}/{job}/{action}", post(jobs::submit_job_command))
        .route("/problems", get(problems::show_problems))
}

pub(crate) fn public_routes(authenticator: &Arc<Authenticator>) -> Router<SharedServerState> {
    html::asset_routes().merge(signing::login_routes(Arc::clone(authenticator)))
}

/// An error that is shown as a page.
pub(crate) struct PageError(Problem);

impl<E: Into<Problem>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        html::render_error(&self.0)
    }
}

/// Returns a project that the caller may see.
fn find_project(
    site: &ServerState,
    caller: &Caller,
    name: &str,
) -> Result<Arc<HostedProject>, Problem> {
    site.find_project(caller, name).cloned().ok_or_else(|| Problem::not_found("project", name))
}

fn encode_segment(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

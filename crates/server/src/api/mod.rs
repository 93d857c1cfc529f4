//! The API: `/api/v1`, with one file for each kind of resource.

mod builds;
mod docs;
mod events;
mod jobs;
mod problems;
mod questions;
mod request;
mod resolve;
mod sessions;

use axum::Router;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{Command, EventEnvelope, RecordedEvent};

use crate::problem::Problem;
use crate::response_cache::TaggedJson;
use crate::server_state::{HostedProject, SharedServerState};

use docs::{ApiOperation, ApiRouter};
use resolve::{ApiProjectQuery, ApiProjectRequest};

pub(crate) use builds::{load_build, load_report, load_task};
pub(crate) use problems::{Stands, load_problems};
pub use questions::Asked;
pub(crate) use questions::{Choice, record_answer, require_question};

/// Returns all routes of the API, and their description.
pub(crate) fn api_routes() -> (Router<SharedServerState>, Value) {
    let api = questions::add_routes(ApiRouter::new());
    let api = builds::add_routes(api);
    let api = jobs::add_routes(api);
    let api = problems::add_routes(api);
    let api = sessions::add_routes(api);
    events::add_routes(api).into_parts()
}

/// Returns JSON with an entity tag: a client that has it already gets 304.
fn respond_with_etag(headers: &HeaderMap, value: &impl Serialize) -> Response {
    match TaggedJson::new(value) {
        Ok(tagged) => tagged.to_response(headers),
        Err(problem) => problem.into_response(),
    }
}

/// Describes an operation that submits a command to a project and responds with its events.
fn describe_command(path: &'static str, id: &'static str, summary: &'static str) -> ApiOperation {
    ApiOperation::post(path, id, summary)
        .with_query::<ApiProjectQuery>()
        .with_request_key(false)
        .with_response::<Vec<EventEnvelope<'_>>>(200, "What came of it.")
}

/// Submits a command, and returns its events: none if the same request came before.
async fn submit_command(at: &ApiProjectRequest, command: Command) -> Result<Response, Problem> {
    let request = request::parse_request_key(&at.headers, "order", &command)?;
    let events =
        at.project.host.submit_command(at.caller.to_issuer(request).wrap_command(command)).await?;
    Ok(respond_with_events(&at.project, &events))
}

/// Returns events in the format that every client gets.
fn respond_with_events(hosted: &HostedProject, events: &[RecordedEvent]) -> Response {
    let events: Vec<EventEnvelope<'_>> =
        events.iter().map(|recorded| recorded.to_envelope(&hosted.name)).collect();
    axum::Json(events).into_response()
}

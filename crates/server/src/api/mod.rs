//! The API: `/api/v1`, with one file for each kind of resource.

mod asked;
mod body;
mod builds;
mod docs;
mod events;
mod jobs;
mod kept;
mod patience;
mod problems;
mod questions;
mod request_key;
mod sessions;
mod tasks;
mod which;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::Value;
use unstuck_core::engine::{Command, Envelope, Recorded};

use crate::problem::Problem;
use crate::site::{Room, Site};
use which::At;

pub use asked::Asked;
pub(crate) use asked::read as read_asked;
use body::Tagged;
pub(crate) use builds::{build_of, report_of};
pub(crate) use docs::Api;
pub(crate) use kept::Kept;
pub(crate) use problems::{Stands, met};
pub(crate) use questions::{Choice, give};

/// The state that every handler shares.
pub(crate) type Shared = Arc<Site>;

/// Returns all routes of the API, and their description.
pub(crate) fn routes() -> (Router<Shared>, Value) {
    let api = questions::routes(Api::new());
    let api = builds::routes(api);
    let api = tasks::routes(api);
    let api = jobs::routes(api);
    let api = problems::routes(api);
    let api = sessions::routes(api);
    events::routes(api).finish()
}

/// Returns JSON with an entity tag: a client that has it already gets 304.
fn cached(headers: &HeaderMap, value: &impl Serialize) -> Response {
    match Tagged::new(value) {
        Ok(tagged) => tagged.answer(headers),
        Err(problem) => problem.into_response(),
    }
}

/// Submits a command, and returns its events: none if the same request came before.
async fn ordered(at: &At, command: Command) -> Result<Response, Problem> {
    let request = request_key::of(&at.headers, "order", &command)?;
    let events = at.room.desk.command(at.caller.order(request).wants(command)).await?;
    Ok(told(&at.room, &events))
}

/// Returns events in the format that every client gets.
fn told(room: &Room, events: &[Recorded]) -> Response {
    let events: Vec<Envelope<'_>> =
        events.iter().map(|recorded| recorded.envelope(&room.name)).collect();
    axum::Json(events).into_response()
}

//! Everything together: the routes, who is let through, and within which limits.

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::time;

use crate::api::{self, Shared};
use crate::problem::Problem;

/// The longest body.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;
/// A request that is no stream is answered within this time, a long wait included.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// The routes that take somebody who was let in, and their description.
pub(crate) fn inner() -> Router<Shared> {
    let (api, description) = api::routes();
    let described = get(move || async move { Json(description) });
    api.route("/api/openapi.json", described)
        .route_layer(middleware::from_fn(in_time))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// The routes that are open to everybody.
pub(crate) fn open() -> Router<Shared> {
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready))
}

/// Whether everything that is needed is there: each store can be read, and the server is not ending.
async fn ready(State(site): State<Shared>) -> Response {
    if site.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "ending\n").into_response();
    }
    for room in site.rooms() {
        if let Err(error) = room.store.newest(&room.name).await {
            tracing::warn!(project = %room.name, %error, "a store cannot be read");
            return (StatusCode::SERVICE_UNAVAILABLE, "a store cannot be read\n").into_response();
        }
    }
    "ready\n".into_response()
}

async fn in_time(request: Request, next: Next) -> Response {
    match time::timeout(ANSWERED_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that took too long")
            .retry_after(5)
            .into_response(),
    }
}

/// What nobody knows.
pub(crate) async fn nothing(request: Request) -> Response {
    let wants_page = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if wants_page {
        return (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response();
    }
    Problem::new(StatusCode::NOT_FOUND, "there is nothing here")
        .hint("`GET /api/openapi.json` says what there is")
        .into_response()
}

//! Assembles the application: the routes, the access checks before them, and the limits.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::time;

use crate::api::{self, Shared};
use crate::auth::{self, Door};
use crate::metrics;
use crate::pages;
use crate::problem::Problem;
use crate::ready::ready;
use crate::site::Site;

/// Maximum size of a request body, in bytes.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;
/// Timeout of a request, including one that waits for an answer; a stream has begun by then.
const ANSWERED_WITHIN: Duration = Duration::from_secs(65);

/// Returns the router of a site, with its access checks.
pub fn app(site: Arc<Site>, door: &Arc<Door>) -> Router {
    let behind = |routes: Router<Shared>, open| match open {
        For::Programs => {
            routes.route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::api))
        }
        For::People => {
            routes.route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::page))
        }
        For::Public => {
            routes.route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::open))
        }
    };
    let (programs, description) = api::routes();
    let described = get(move || async move { Json(description) });
    let programs =
        programs.route("/api/openapi.json", described).route("/metrics", get(metrics::show));
    let public =
        Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready));
    let signing = pages::signing_in(Arc::clone(door));
    behind(programs, For::Programs)
        .merge(behind(pages::routes(door), For::People))
        .merge(behind(public.merge(pages::open()).merge(signing), For::Public))
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn(auth::guarded))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), metrics::counted))
        .with_state(site)
}

/// The audience of a group of routes.
enum For {
    Programs,
    People,
    Public,
}

async fn in_time(request: Request, next: Next) -> Response {
    match time::timeout(ANSWERED_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that took too long")
            .retry_after(5)
            .into_response(),
    }
}

/// Responds to an unknown path.
async fn nothing(address: Uri) -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "there is no such page");
    if address.path().starts_with("/api/") {
        problem.hint("`GET /api/openapi.json` says what there is").into_response()
    } else {
        pages::fail(&problem)
    }
}

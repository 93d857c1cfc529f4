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

use crate::api::{self, SharedServerState};
use crate::auth::{self, Authenticator};
use crate::metrics;
use crate::pages;
use crate::problem::Problem;
use crate::ready::report_readiness;
use crate::site::ServerState;

/// Maximum size of a request body, in bytes.
const BODY_BYTES_MAX: usize = 1_024 * 1_024;
/// Timeout of a request, including one that waits for an answer; a stream has begun by then.
const ANSWERED_WITHIN: Duration = Duration::from_secs(65);

/// Returns the router of a site, with its access checks.
pub fn build_app(site: Arc<ServerState>, door: &Arc<Authenticator>) -> Router {
    let behind =
        |routes: Router<SharedServerState>, open| match open {
            RouteGroup::Programs => routes
                .route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::guard_api)),
            RouteGroup::People => routes
                .route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::guard_pages)),
            RouteGroup::Public => routes
                .route_layer(middleware::from_fn_with_state(Arc::clone(door), auth::guard_public)),
        };
    let (programs, description) = api::api_routes();
    let described = get(move || async move { Json(description) });
    let programs = programs
        .route("/api/openapi.json", described)
        .route("/metrics", get(metrics::render_metrics));
    let public = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(report_readiness));
    let signing = pages::signing_in(Arc::clone(door));
    behind(programs, RouteGroup::Programs)
        .merge(behind(pages::page_routes(door), RouteGroup::People))
        .merge(behind(public.merge(pages::public_routes()).merge(signing), RouteGroup::Public))
        .fallback(respond_not_found)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(enforce_timeout))
        .layer(middleware::from_fn(auth::add_security_headers))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), metrics::count_responses))
        .with_state(site)
}

/// The audience of a group of routes.
enum RouteGroup {
    Programs,
    People,
    Public,
}

async fn enforce_timeout(request: Request, next: Next) -> Response {
    match time::timeout(ANSWERED_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that took too long")
            .with_retry_after(5)
            .into_response(),
    }
}

/// Responds to an unknown path.
async fn respond_not_found(address: Uri) -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "there is no such page");
    if address.path().starts_with("/api/") {
        problem.with_hint("`GET /api/openapi.json` says what there is").into_response()
    } else {
        pages::render_error(&problem)
    }
}

//! Assembles the application: the routes, the access checks before them, the limits, and the security
//! headers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::time;

use crate::auth::{self, Authenticator};
use crate::problem::Problem;
use crate::server_state::{ServerState, SharedServerState};
use crate::{api, html, monitoring, pages};

const BODY_BYTES_MAX: usize = 1_024 * 1_024;
/// Timeout of a request, including one that waits for an answer; a stream has begun by then.
const ANSWERED_WITHIN: Duration = Duration::from_secs(65);

/// Browsers load nothing from elsewhere, show a page in no frame, and keep no copy.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // No other site learns an address of this server. With `no-referrer`, browsers would also hide
    // from this server where its own forms come from.
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Returns the router of a site, with its access checks.
pub fn build_app(site: Arc<ServerState>, authenticator: &Arc<Authenticator>) -> Router {
    let (programs, description) = api::api_routes();
    let described = get(move || async move { Json(description) });
    let programs = programs
        .route("/api/openapi.json", described)
        .route("/metrics", get(monitoring::render_metrics));
    let public = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(monitoring::report_readiness));
    let check_programs = middleware::from_fn_with_state(Arc::clone(authenticator), auth::guard_api);
    let check_people = middleware::from_fn_with_state(Arc::clone(authenticator), auth::guard_pages);
    let check_public =
        middleware::from_fn_with_state(Arc::clone(authenticator), auth::guard_public);
    programs
        .route_layer(check_programs)
        .merge(pages::page_routes(authenticator).route_layer(check_people))
        .merge(public.merge(pages::public_routes(authenticator)).route_layer(check_public))
        .fallback(respond_not_found)
        .method_not_allowed_fallback(respond_wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(enforce_timeout))
        .layer(middleware::from_fn(add_security_headers))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), count_responses))
        .with_state(site)
}

async fn count_responses(
    State(site): State<SharedServerState>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    site.traffic.count_response(&response);
    response
}

async fn enforce_timeout(request: Request, next: Next) -> Response {
    match time::timeout(ANSWERED_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that took too long")
            .with_retry_after(5)
            .into_response(),
    }
}

async fn respond_not_found(address: Uri) -> Response {
    respond_problem(&address, Problem::new(StatusCode::NOT_FOUND, "there is no such page"))
}

async fn respond_wrong_method(method: Method, address: Uri) -> Response {
    let message = format!("{method} is not possible here");
    respond_problem(&address, Problem::new(StatusCode::METHOD_NOT_ALLOWED, message))
}

/// Responds to a program as JSON, to a person as a page.
fn respond_problem(address: &Uri, problem: Problem) -> Response {
    if address.path().starts_with("/api/") {
        problem.with_hint("`GET /api/openapi.json` says what there is").into_response()
    } else {
        html::render_error(&problem)
    }
}

async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    set_security_headers(response.headers_mut());
    response
}

fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Only resources that never change under their name may be cached.
    let kept = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
    if !kept.is_some_and(|kept| kept.contains("immutable")) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn headers(path: &str) -> HeaderMap {
        let asset = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
        let stream = [(CACHE_CONTROL, "no-cache"), (CONTENT_SECURITY_POLICY, "default-src *")];
        let router = Router::new()
            .route("/asset", get(move || async move { asset }))
            .route("/stream", get(move || async move { stream }))
            .layer(middleware::from_fn(add_security_headers));
        let request = Request::get(path).body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().headers().clone()
    }

    #[tokio::test]
    async fn everything_that_is_answered_carries_them() {
        for path in ["/asset", "/stream", "/nothing-there"] {
            let headers = headers(path).await;
            for (name, value) in SECURITY_HEADERS {
                assert_eq!(headers[&name], value, "{path} {name}");
            }
            let kept = path == "/asset";
            assert_eq!(headers[CACHE_CONTROL] == "no-store", !kept, "{path}");
            let mut names = headers.keys();
            assert!(!names.any(|name| name.as_str().starts_with("access-control")), "{path}");
        }
    }
}
